"""What cloud-init makes of each text of the JSON list on standard input: [[type, file name, text], …], by its own code."""
import json
import logging
import sys
import tempfile

from cloudinit import helpers, user_data, util

logging.disable(logging.CRITICAL)
folder = tempfile.mkdtemp()
processor = user_data.UserDataProcessor(helpers.Paths({'cloud_dir': folder, 'run_dir': folder}))
found = [processor.process(text.encode()) for text in json.load(sys.stdin)]
util.del_dir(folder)
json.dump([[[part.get_content_type(), part.get_filename(), util.fully_decoded_payload(part)]
            for part in message.walk() if part.get_content_maintype() != 'multipart'] for message in found], sys.stdout)
