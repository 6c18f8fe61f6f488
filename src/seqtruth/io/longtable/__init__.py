"""Long tables, one row per token and annotator: the only packer.

Words for portions of a table, from small to large: a *row*; a *run*, neighbouring rows of one annotator
on one task; a *batch*, rows that a source hands over together; a *part*, whole tasks that are in memory
at a time; a *group*, rows that are written together.

==============  ============================================================================
``sources``     where tables come from and go to: files and frames, as batches
``codes``       texts of a column as numbers
``runs``        batches as runs, and the kernels over them
``build``       runs to whole tasks, laid out as sentences and rows, to a crowd
``table``       reading and writing a crowd in memory
``scan``        tables larger than memory, in parts
``spans``       tables with one row per span
``write``       a crowd as rows
==============  ============================================================================
"""
