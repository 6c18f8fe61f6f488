"""Side-by-side runs against other systems: ``make bench`` or ``python -m bench``.

The only place where the others (crowd-kit, pandas, Polars) are imported.
"""
