package io.rdmaraw.microbench.tcp;

import java.util.Locale;
import java.util.function.Function;

/** The kinds of attacks by hostile peers, with the number of actions per second. */
enum HostileKind {
    /** The peers send a request and a FIN, and keep their receive window at zero. */
    ZERO_WINDOW(500, HostilePeers.ZeroWindow::new),
    /** The peers send single bytes, each after a gap in the sequence numbers. */
    TINY_SEGMENTS(50_000, HostilePeers.TinySegments::new),
    /** The peer sends SACK blocks that make the sender traverse all segments in flight. */
    SACK_BLOCKS(20_000, HostilePeers.SackBlocks::new),
    /** The peers send SYNs from unused addresses of the link. */
    NEIGHBORS(2_000, HostilePeers.Neighbors::new),
    /** The peers return SYN cookies with a timestamp that the server never sent. */
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

    /** Returns the name in case names. */
    @Override
    public String toString() {
        return name().toLowerCase(Locale.ROOT).replace('_', '-');
    }
}
