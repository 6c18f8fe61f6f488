"""Compiled functions over plain arrays: the bottom of the house.

Nothing here knows a corpus, a crowd or a scheme. Kernels walk arrays, and NamedTuples of arrays
(:class:`~seqtruth.kernels.views.CrowdView`, :class:`~seqtruth.kernels.grammar.Grammar`) that the data
model hands out. What stands at their doors in brackets is a shape, and these letters are sizes:

======  ===============================================================
S       sentences
T       tokens, of all sentences
n       tokens, of one sentence
R       rows, one for each sentence that an annotator labelled
A       annotations: the tags of all rows
W       annotators
L       labels (``width``: L rounded up to a multiple of four)
P, C    an annotator's previous tag (1 or C), and the tag they gave
======  ===============================================================

``float64[T, L]`` is one row of L numbers a token; ``int64[S+1]`` are offsets, where each sentence begins
and the last one ends; ``tag[T]`` are label numbers in one byte or, where that is not enough, in two, and
-1 means *not labelled*. A length of 0 where T or S is expected means that there is none.
"""
