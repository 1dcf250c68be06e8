package io.rdmaraw.tcp;

import io.rdmaraw.tcp.congestion.AckSample;
import io.rdmaraw.tcp.send.RecoveryState;
import io.rdmaraw.tcp.send.SendState;

/** Proportional rate reduction (RFC 9937): limits the data sent per ACK during fast recovery. */
final class Prr {
    private Prr() {
    }

    /** @param flightBytes RecoverFS: bytes in flight before the ACK that started recovery */
    static void start(RecoveryState r, int flightBytes) {
        r.prrDelivered = 0;
        r.prrOut = 0;
        r.recoverFlightBytes = Math.max(1, flightBytes);
    }

    /**
     * Returns the congestion window: the pipe plus the amount that this ACK allows to send.
     *
     * @param safe SND.UNA has advanced and no further loss was detected
     */
    static int onAck(TcpConnection c, SendState f, AckSample sample, boolean safe) {
        RecoveryState r = f.recovery;
        int pipe = f.pipeBytes();
        int mss = c.sndMss;
        r.prrDelivered += sample.deliveredBytes;
        long allowance;
        if (pipe > c.ssthresh) {
            // Section 6.2, proportional part: the pipe shrinks to ssthresh over one round trip.
            allowance = ceilDiv(r.prrDelivered * c.ssthresh, r.recoverFlightBytes) - r.prrOut;
        } else {
            // Reduction bound: conservative (CRB), or as in slow start (SSRB) if the ACK is safe.
            long limit = Math.max(r.prrDelivered - r.prrOut, sample.deliveredBytes);
            if (safe) {
                limit += mss;
            }
            allowance = Math.min(c.ssthresh - pipe, limit);
        }
        // The first retransmission of a recovery is always allowed.
        allowance = Math.max(allowance, r.prrOut == 0 ? mss : 0);
        return (int) Math.min(Integer.MAX_VALUE / 2, Math.max(mss, pipe + allowance));
    }

    private static long ceilDiv(long x, long y) {
        return (x + y - 1) / y;
    }
}
