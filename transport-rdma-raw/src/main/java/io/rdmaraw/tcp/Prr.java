package io.rdmaraw.tcp;

import io.rdmaraw.tcp.congestion.AckSample;
import io.rdmaraw.tcp.send.Flight;
import io.rdmaraw.tcp.send.RecoveryState;

/** Proportional rate reduction (RFC 9937): how much may be sent for each acknowledgement in fast recovery. */
final class Prr {
    private Prr() {
    }

    /** @param flightBytes RecoverFS: what was in flight before the acknowledgement that begins recovery */
    static void start(RecoveryState r, int flightBytes) {
        r.prrDelivered = 0;
        r.prrOut = 0;
        r.recoverFlightBytes = Math.max(1, flightBytes);
    }

    /**
     * Returns the congestion window: what is in flight plus what this acknowledgement allows.
     *
     * @param safe SND.UNA has advanced and no further loss was found: recovery goes well
     */
    static int onAck(TcpConnection c, Flight f, AckSample sample, boolean safe) {
        RecoveryState r = f.recovery;
        int pipe = f.pipeBytes();
        int mss = c.sndMss;
        r.prrDelivered += sample.deliveredBytes;
        long allowance;
        if (pipe > c.ssthresh) {
            // Section 6.2, the proportional part: pipe shrinks to ssthresh over one round trip.
            allowance = ceilDiv(r.prrDelivered * c.ssthresh, r.recoverFlightBytes) - r.prrOut;
        } else {
            // The reduction bound: conservative (CRB), or as in slow start (SSRB) while recovery goes well.
            long limit = Math.max(r.prrDelivered - r.prrOut, sample.deliveredBytes);
            if (safe) {
                limit += mss;
            }
            allowance = Math.min(c.ssthresh - pipe, limit);
        }
        // The retransmission that begins recovery is never held back.
        allowance = Math.max(allowance, r.prrOut == 0 ? mss : 0);
        return (int) Math.min(Integer.MAX_VALUE / 2, Math.max(mss, pipe + allowance));
    }

    private static long ceilDiv(long x, long y) {
        return (x + y - 1) / y;
    }
}
