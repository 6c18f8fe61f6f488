"""What is labelled and by whom: corpus, crowd, labelling, scheme, spans."""
