package io.rdmaraw.testsuite.sim;

import java.util.function.Supplier;

/** The attacks of a {@link HostilePeer}. */
enum AttackKind {
    /** Keeps its window closed, or repeats an old acknowledgment, for ever. */
    ZERO_WINDOW(NeverEndingPeer::new, 0),
    /** Answers SYN cookies with options that were never agreed, late, twice or with another connection's cookie. */
    COOKIE_REPLAY(CookiePeer::new, 0),
    /** Half-opens many connections and leaves them. */
    HALF_OPEN(HalfOpenPeer::new, 0),
    /** Lets the flight size grow and reports it in SACK blocks that make the sender examine the whole flight. */
    SACK_FLOOD(SackPeer::new, 0),
    /** Sends pieces of a few bytes with holes between them. The core examines and moves up to 512 ranges. */
    TINY_SEGMENTS(TinySegmentsPeer::new, 1_024),
    /** Reports ever-changing path MTUs. If a queued segment is split, all later entries of the queue move. */
    PATH_MTU(PathMtuPeer::new, 4_096),
    /** Keeps a connection in TIME-WAIT while another loop of the same host reuses its ports. */
    PORT_REUSE(PortReusePeer::new, 0);

    private final Supplier<HostilePeer> maker;
    private final int moreSteps;

    AttackKind(Supplier<HostilePeer> maker, int moreSteps) {
        this.maker = maker;
        this.moreSteps = moreSteps;
    }

    /** Returns the additional steps that a segment may cost in this attack, bounded by limits of the core. */
    int moreSteps() {
        return moreSteps;
    }

    HostilePeer newPeer() {
        return maker.get();
    }
}
