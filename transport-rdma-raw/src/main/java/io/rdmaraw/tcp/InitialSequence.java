package io.rdmaraw.tcp;

import io.rdmaraw.wire.SipHash;

import java.util.function.IntSupplier;

/**
 * Generates initial sequence numbers and timestamp offsets that outsiders cannot predict (RFC 6528, RFC 7323
 * section 5.4).
 */
final class InitialSequence {
    private static final long ISN_DOMAIN = 1;
    private static final long TIMESTAMP_DOMAIN = 2;

    private final SipHash hash;
    /** Test override of the generator; null in production. */
    private final IntSupplier testOverride;

    InitialSequence(SipHash hash, IntSupplier testOverride) {
        this.hash = hash;
        this.testOverride = testOverride;
    }

    /**
     * RFC 6528 section 3: ISN = M + F(localip, localport, remoteip, remoteport, secretkey). M increments every 4
     * us.
     */
    int isn(long localHigh, long localLow, int localPort, long remoteHigh, long remoteLow, int remotePort, long now) {
        if (testOverride != null) {
            return testOverride.getAsInt();
        }
        return (int) (now / 4_000) + (int) hash.hash(localHigh, localLow, remoteHigh, remoteLow,
                SipHash.ports(localPort, remotePort), ISN_DOMAIN);
    }

    /**
     * Returns the offset of the timestamp clock for a pair of hosts (RFC 7323 section 5.4). The ports are not
     * included: a connection that replaces one in TIME-WAIT must have later timestamps than its predecessor (RFC
     * 6191), even on another loop.
     */
    int timestampOffset(long localHigh, long localLow, long remoteHigh, long remoteLow) {
        return (int) hash.hash(localHigh, localLow, remoteHigh, remoteLow, 0, TIMESTAMP_DOMAIN);
    }
}
