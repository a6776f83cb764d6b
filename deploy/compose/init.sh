#!/bin/bash
# Initialises the cluster of compose.yaml once, and makes the database. Safe to run again.
set -euo pipefail

attempts=60
until output=$(/cockroach/cockroach init --insecure --host="$DATABASE_NODE" 2>&1); do
	if grep -q 'already been initialized' <<< "$output"; then
		break
	fi
	attempts=$((attempts - 1))
	if [ "$attempts" -le 0 ]; then
		echo "the cluster could not be initialised: $output" >&2
		exit 1
	fi
	sleep 1
done

attempts=60
until output=$(/cockroach/cockroach sql --insecure --host="$DATABASE_NODE" \
	--execute="CREATE DATABASE IF NOT EXISTS $DATABASE_NAME" 2>&1); do
	attempts=$((attempts - 1))
	if [ "$attempts" -le 0 ]; then
		echo "the database could not be made: $output" >&2
		exit 1
	fi
	sleep 1
done
echo "The cluster has the database $DATABASE_NAME."
