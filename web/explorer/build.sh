#!/bin/sh
# Makes graph/explorer/thirdparty from npm packages at the versions and
# checksums of package-lock.json. Needs node 20 or newer, npm, and a registry.
# Nothing is compiled or changed: the files are copied byte for byte, so that
# each can be compared with the package it came from.
set -eu

cd "$(dirname "$0")"
out=../../graph/explorer/thirdparty

npm ci

rm -rf "$out"
mkdir -p "$out"
cp node_modules/react/umd/react.production.min.js "$out/"
cp node_modules/react-dom/umd/react-dom.production.min.js "$out/"
cp node_modules/graphiql/graphiql.min.js "$out/"
cp node_modules/graphiql/graphiql.min.css "$out/"
node licences.mjs > "$out/LICENSES.txt"
chmod 644 "$out"/*
