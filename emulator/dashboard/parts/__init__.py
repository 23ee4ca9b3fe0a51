"""What the dashboard's pages share: the frame, reads, values, errors, links, assets, answers."""
