#!/bin/sh
# All nodes are up when this runs.
set -eu
echo '["node1", "node2"]' > "$heat_outputs_path.members"
echo true > "$heat_outputs_path.ready"
