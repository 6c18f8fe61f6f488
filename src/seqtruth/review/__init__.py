"""The review desk: people settle what the labels are unsure of, and the labels learn from it.

``seqtruth review RESULT`` opens it. The rooms, from the bottom: :mod:`seqtruth.decisions.cases` (places where
the labels may be wrong), :mod:`~seqtruth.review.questions` (cases that share an answer, by what an answer is
worth), :mod:`~seqtruth.review.marks` and :mod:`~seqtruth.review.store` (decisions, kept in a database),
:mod:`~seqtruth.review.learning` (what decisions teach), :mod:`~seqtruth.review.desk` (all of it for one
corpus), :mod:`~seqtruth.review.app` (the JSON API and the page). Cases, questions and learning need no
extra; the database and the server are ``seqtruth[review]``.
"""
