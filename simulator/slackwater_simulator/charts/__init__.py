"""Drawings, tables and pages: what the reports, the assessment and the dashboard are made of. Knows no simulation."""
