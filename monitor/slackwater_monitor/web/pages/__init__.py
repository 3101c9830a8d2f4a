"""What each page shows: values for its template, made from a source. No HTML but the charts."""
