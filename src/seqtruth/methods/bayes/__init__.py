"""Models of annotators with probabilities: worker model × sequence model × evidence."""
