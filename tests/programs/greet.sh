#!/bin/sh
# greet: no Python, no collectives: what `troupe run` tells any program about its rank.
echo "rank $RANK of $WORLD_SIZE, local $LOCAL_RANK of $LOCAL_WORLD_SIZE, at $MASTER_ADDR:$MASTER_PORT"
