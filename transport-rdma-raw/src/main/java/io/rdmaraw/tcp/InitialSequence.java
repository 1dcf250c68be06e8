package io.rdmaraw.tcp;

import io.rdmaraw.wire.SipHash;

import java.util.function.IntSupplier;

/** Initial sequence numbers and timestamp offsets that cannot be guessed from outside (RFC 6528, RFC 7323 5.4). */
final class InitialSequence {
    private static final long ISN = 1;
    private static final long TIMESTAMP = 2;

    private final SipHash hash;
    /** Test override of the generator; null in production. */
    private final IntSupplier testOverride;

    InitialSequence(SipHash hash, IntSupplier testOverride) {
        this.hash = hash;
        this.testOverride = testOverride;
    }

    /** RFC 6528 section 3: ISN = M + F(localip, localport, remoteip, remoteport, secretkey), M ticking every 4 us. */
    int isn(long localHigh, long localLow, int localPort, long remoteHigh, long remoteLow, int remotePort, long now) {
        if (testOverride != null) {
            return testOverride.getAsInt();
        }
        return (int) (now / 4_000) + (int) hash.hash(localHigh, localLow, remoteHigh, remoteLow,
                SipHash.ports(localPort, remotePort), ISN);
    }

    /**
     * RFC 7323 section 5.4: the timestamp clock of each pair of hosts has its own offset. It leaves the ports out, so
     * that a new connection in place of one in TIME-WAIT shows later timestamps than the old one (RFC 6191), on
     * whichever loop it is.
     */
    int timestampOffset(long localHigh, long localLow, long remoteHigh, long remoteLow) {
        return (int) hash.hash(localHigh, localLow, remoteHigh, remoteLow, 0, TIMESTAMP);
    }
}
