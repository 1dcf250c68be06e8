package io.rdmaraw.testsuite.sim;

import java.util.ArrayList;
import java.util.List;

/**
 * All decisions before a run: the implementations at both ends, the faults of the path and the behaviour of the
 * applications. It is a function of the seed and of the mask of disabled faults.
 */
final class Scenario {
    /** The implementation at each end. */
    enum Ends { CORE_TO_CORE, CORE_TO_REFERENCE, REFERENCE_TO_CORE }

    /** One connection: the time at which it is opened, and the behaviour of its two ends. */
    record Conversation(long startNanos, int clientPort, AppPlan client, AppPlan server) {
    }

    final long seed;
    final long off;
    final SplitMix random;
    final Ends ends;
    final boolean ipv6;
    final boolean simultaneousOpen;
    final LinkPlan forward;
    final LinkPlan backward;
    final PeerPlan peer;
    final CorePlan client;
    final CorePlan server;
    final List<Conversation> conversations = new ArrayList<>();

    Scenario(long seed, long off, Ends only) {
        this.seed = seed;
        this.off = off;
        random = new SplitMix(seed);
        SplitMix draw = random.split(1);
        Ends drawn = Ends.values()[draw.below(Ends.values().length)];
        ends = only == null ? drawn : only;
        ipv6 = draw.chance(0.3);
        boolean simultaneous = draw.chance(0.05);
        simultaneousOpen = simultaneous && on(Fault.SIMULTANEOUS_OPEN);
        peer = new PeerPlan(random.split(4), on(Fault.PEER_QUIRKS));
        client = new CorePlan(random.split(5), on(Fault.UNUSUAL_CONFIG));
        server = new CorePlan(random.split(6), on(Fault.UNUSUAL_CONFIG));
        // With SYN cookies, the first packet after the SYN creates the connection. If it is lost or late, the
        // next packet is answered with a reset, by any stack. If it is repeated after the end, it creates another
        // connection. The negotiated options travel in the packet, so the path must not strip any.
        forward = new LinkPlan(random.split(2), 0, server.cookies ? off | Fault.lossy(0) : off);
        backward = new LinkPlan(random.split(3), 1, server.cookies ? off | Fault.OPTION_STRIPPING.bit(1) : off);
        // RFC 7413 section 2.1: a SYN repeated after the end of the connection delivers its data again.
        boolean once = forward.staleProbability == 0 && forward.duplicateProbability == 0;
        client.fastOpen &= server.fastOpen && once && ends == Ends.CORE_TO_CORE && !simultaneousOpen;
        server.fastOpen = client.fastOpen;
        drawConversations(random.split(7));
    }

    private boolean on(Fault fault) {
        return (off & fault.bit(0)) == 0;
    }

    private void drawConversations(SplitMix draw) {
        int drawn = draw.chance(0.3) ? draw.between(2, 4) : 1;
        int count = on(Fault.SEVERAL_CONNECTIONS) && !simultaneousOpen ? drawn : 1;
        long most = maxBytes();
        for (int i = 0; i < count; i++) {
            SplitMix each = draw.split(i);
            long start = i == 0 ? 0 : each.magnitude(1_000, 3_000 * LinkPlan.MILLI);
            AppPlan first = new AppPlan(each.split(1), most, each.chance(0.5), off);
            boolean firstWaits = first.end == AppPlan.End.CLOSE_LAST;
            AppPlan second = new AppPlan(each.split(2), most, !firstWaits, off);
            conversations.add(new Conversation(start, 40_000 + i, first, second));
        }
    }

    /**
     * Returns the maximum transfer size. It is smaller if each window or segment carries little data or recovery
     * takes long.
     */
    private long maxBytes() {
        boolean lossy = forward.lossProbability + backward.lossProbability > 0.1 || forward.turnBad > 0.01
                || backward.turnBad > 0.01;
        long most = lossy ? 30_000 : 300_000;
        if (ends == Ends.CORE_TO_CORE) {
            return most;
        }
        boolean slow = peer.mss > 0 && peer.mss < 300 || peer.shrinkProbability > 0 || peer.renegeProbability > 0;
        return Math.min(slow ? 5_000 : most, 20L * peer.bufferBytes);
    }

    @Override
    public String toString() {
        StringBuilder text = new StringBuilder();
        text.append("seed ").append(seed).append(off == 0 ? "" : " off 0x" + Long.toHexString(off)).append(' ')
                .append(ends).append(ipv6 ? " IPv6" : " IPv4").append(simultaneousOpen ? " simultaneous open" : "");
        text.append("\n  >  ").append(forward).append("\n  <  ").append(backward);
        text.append("\n  client ").append(ends == Ends.REFERENCE_TO_CORE ? peer : client);
        text.append("\n  server ").append(ends == Ends.CORE_TO_REFERENCE ? peer : server);
        for (Conversation conversation : conversations) {
            text.append("\n  at ").append(conversation.startNanos / 1000).append(" us: client ")
                    .append(conversation.client).append("; server ").append(conversation.server);
        }
        return text.toString();
    }
}
