package io.rdmaraw.tcp;

import io.rdmaraw.wire.SipHash;

import java.util.function.IntPredicate;
import java.util.random.RandomGenerator;

/**
 * Selects ephemeral ports that are hard to guess and rarely repeat: double-hash port selection (RFC 6056 section
 * 3.3.4).
 */
final class PortSelector {
    private static final int TABLE_SIZE = 64;
    private static final long OFFSET_DOMAIN = 4;
    private static final long TABLE_DOMAIN = 5;

    private final SipHash hash;
    private final int first;
    private final int count;
    private final int[] counters = new int[TABLE_SIZE];

    PortSelector(SipHash hash, TcpConfig config, RandomGenerator random) {
        this.hash = hash;
        first = config.firstEphemeralPort;
        count = config.lastEphemeralPort - first + 1;
        for (int i = 0; i < TABLE_SIZE; i++) {
            counters[i] = random.nextInt(0x10000);
        }
    }

    /** Returns a port that {@code suitable} accepts, or -1 if there is none. */
    int select(long localHigh, long localLow, long remoteHigh, long remoteLow, int remotePort, IntPredicate suitable) {
        int offset = (int) (hash.hash(localHigh, localLow, remoteHigh, remoteLow, remotePort, OFFSET_DOMAIN) >>> 33);
        int slot = (int) (hash.hash(localHigh, localLow, remoteHigh, remoteLow, remotePort, TABLE_DOMAIN)
                & TABLE_SIZE - 1);
        for (int i = 0; i < count; i++) {
            int port = first + Integer.remainderUnsigned(offset + counters[slot], count);
            counters[slot]++;
            if (suitable.test(port)) {
                return port;
            }
        }
        return -1;
    }
}
