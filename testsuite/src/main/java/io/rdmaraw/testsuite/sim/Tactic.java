package io.rdmaraw.testsuite.sim;

import java.util.function.Supplier;

/** What a hostile peer does. */
enum Tactic {
    /** Says that its window is closed, or repeats an old acknowledgment, for ever. */
    ZERO_WINDOW(NeverEndingPeer::new),
    /** Answers SYN cookies with what was never agreed, late, twice, or with another's. */
    COOKIE_REPLAY(CookiePeer::new),
    /** Opens many connections by half and lets them be. */
    HALF_OPEN(HalfOpenPeer::new),
    /** Has much in flight towards it and reports it in blocks that make the sender look at all of it again. */
    SACK_FLOOD(SackPeer::new),
    /** Sends pieces of a few bytes with holes between them. */
    TINY_SEGMENTS(TinySegmentsPeer::new),
    /** Says that packets were too big, each time otherwise. */
    PATH_MTU(PathMtuPeer::new),
    /** Remembers a connection while its ports are used again, by another loop of the same host. */
    PORT_REUSE(PortReusePeer::new);

    private final Supplier<HostilePeer> maker;

    Tactic(Supplier<HostilePeer> maker) {
        this.maker = maker;
    }

    HostilePeer newPeer() {
        return maker.get();
    }
}
