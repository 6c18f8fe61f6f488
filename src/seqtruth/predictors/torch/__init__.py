"""Networks of words and characters (extra ``torch``)."""
