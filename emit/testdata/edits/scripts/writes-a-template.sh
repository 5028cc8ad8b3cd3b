#!/bin/sh
cat > /root/one.yaml <<EOF
heat_template_version: 2018-08-31
resources: {}
EOF
echo "it says: {heat_template_version, and more: [}"
