"""Every method under one roof: ``METHODS`` maps the word a user types to the class."""

from seqtruth.aggregators.aggslc import AggSLC
from seqtruth.aggregators.base import Aggregator
from seqtruth.aggregators.dawid_skene import DawidSkene
from seqtruth.aggregators.majority import MajorityVote

METHODS: dict[str, type[Aggregator]] = {
    method.name: method for method in (MajorityVote, DawidSkene, AggSLC)
}

__all__ = ["METHODS", "AggSLC", "Aggregator", "DawidSkene", "MajorityVote"]
