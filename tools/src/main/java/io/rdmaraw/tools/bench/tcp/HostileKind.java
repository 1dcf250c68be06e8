package io.rdmaraw.tools.bench.tcp;

import java.util.Locale;
import java.util.function.Function;

/**
 * What a hostile peer does to a server, and how often in a second. Those that fill a backlog come last: for a minute
 * behind them our server lets nobody in with his first SYN, and these peers send no second one.
 */
enum HostileKind {
    /** Connections that ask, end, and never open their window for the answer. */
    ZERO_WINDOW(500, HostilePeers.ZeroWindow::new),
    /** Bytes one by one, each behind a hole. */
    TINY_SEGMENTS(50_000, HostilePeers.TinySegments::new),
    /** Blocks that make a sender look at all again that is in flight. */
    SACK_BLOCKS(20_000, HostilePeers.SackBlocks::new),
    /** SYNs from addresses of the link that nobody has. */
    NEIGHBORS(2_000, HostilePeers.Neighbors::new),
    /** SYN cookies come back with a time that was never sent. */
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

    /** As the names of cases have it. */
    @Override
    public String toString() {
        return name().toLowerCase(Locale.ROOT).replace('_', '-');
    }
}
