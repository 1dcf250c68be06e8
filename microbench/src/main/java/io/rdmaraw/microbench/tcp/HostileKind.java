package io.rdmaraw.microbench.tcp;

import java.util.Locale;
import java.util.function.Function;

/** What hostile peers do to a server, and how often per second. */
enum HostileKind {
    /** Connections that send a request and a FIN, and never open their window for the answer. */
    ZERO_WINDOW(500, HostilePeers.ZeroWindow::new),
    /** Single bytes, each after a gap in the sequence numbers. */
    TINY_SEGMENTS(50_000, HostilePeers.TinySegments::new),
    /** SACK blocks that make a sender walk through everything in flight. */
    SACK_BLOCKS(20_000, HostilePeers.SackBlocks::new),
    /** SYNs from unused addresses of the link. */
    NEIGHBORS(2_000, HostilePeers.Neighbors::new),
    /** SYN cookies that come back with a timestamp that was never sent. */
    COOKIE_ECHO(2_000, HostilePeers.CookieEcho::new);

    private final int perSecond;
    private final Function<HostileWire, HostilePeers> maker;

    HostileKind(int perSecond, Function<HostileWire, HostilePeers> maker) {
        this.perSecond = perSecond;
        this.maker = maker;
    }

    int perSecond() {
        return perSecond;
    }

    HostilePeers on(HostileWire wire) {
        return maker.apply(wire);
    }

    /** Returns the name in the names of cases. */
    @Override
    public String toString() {
        return name().toLowerCase(Locale.ROOT).replace('_', '-');
    }
}
