"""`./reprise prepare`: turns datasets as people have them into what `train` reads."""
