package io.rdmaraw.testsuite.sim;

import java.util.function.Supplier;

/** What a hostile peer does. */
enum Tactic {
    /** Says that its window is closed, or repeats an old acknowledgment, for ever. */
    ZERO_WINDOW(NeverEndingPeer::new, 0),
    /** Answers SYN cookies with what was never agreed, late, twice, or with another's. */
    COOKIE_REPLAY(CookiePeer::new, 0),
    /** Opens many connections by half and lets them be. */
    HALF_OPEN(HalfOpenPeer::new, 0),
    /** Has much in flight towards it and reports it in blocks that make the sender look at all of it again. */
    SACK_FLOOD(SackPeer::new, 0),
    /** Sends pieces of a few bytes with holes between them. Up to 512 ranges are looked at, and moved. */
    TINY_SEGMENTS(TinySegmentsPeer::new, 1_024),
    /** Says that packets were too big, each time otherwise. A segment that is cut moves all that lies behind it. */
    PATH_MTU(PathMtuPeer::new, 4_096),
    /** Remembers a connection while its ports are used again, by another loop of the same host. */
    PORT_REUSE(PortReusePeer::new, 0);

    private final Supplier<HostilePeer> maker;
    private final int moreSteps;

    Tactic(Supplier<HostilePeer> maker, int moreSteps) {
        this.maker = maker;
        this.moreSteps = moreSteps;
    }

    /** Returns what a segment may cost more than others: a bound of the core's, and not what the peer likes. */
    int moreSteps() {
        return moreSteps;
    }

    HostilePeer newPeer() {
        return maker.get();
    }
}
