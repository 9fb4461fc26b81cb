"""Cluster embeddings, Chen & Gimpel, NAACL 2018."""
