"""What runs inside a cell over blobs: columnar copies, SQL, Python."""
