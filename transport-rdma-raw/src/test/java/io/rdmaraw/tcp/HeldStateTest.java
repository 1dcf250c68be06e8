package io.rdmaraw.tcp;

import static io.rdmaraw.tcp.TcpState.*;
import static org.junit.jupiter.api.Assertions.assertEquals;

import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** What a peer can make an engine hold has an end: in number, in bytes and in time. */
class HeldStateTest {
    private static Segment from(int port) {
        return new Segment().source(0, Dialogue.THERE, port).destination(0, Dialogue.HERE, Dialogue.PORT);
    }

    /** An answer to the SYN of {@code port}, which must be a cookie. */
    private static Segment cookie(Dialogue d, int port) {
        d.engine.onSegment(from(port).flags(TcpFlags.SYN).seq(77).mss(1400).window(5000).windowScale(5)
                .sackPermitted(true).timestamps(500, 0), d.now);
        Segment answer = new Segment();
        assertEquals(true, d.engine.pollSegment(d.now, answer));
        assertEquals(TcpFlags.SYN | TcpFlags.ACK, answer.flags());
        return answer;
    }

    // ---- half-open connections ----

    @ParameterizedTest
    @ValueSource(ints = {-1 << 30, -200_000, 1_000, 1 << 30})
    void aCookieWithATimeThatWasNeverSentOpensNothing(int milliseconds) {
        Dialogue d = new Dialogue(TcpConfig.builder()).listen(1);
        d.hears("S 0 mss 1000").says("SA 0 ack 1");
        Segment cookie = cookie(d, 6000);
        d.engine.onSegment(from(6000).flags(TcpFlags.ACK).seq(78).ack(cookie.seq() + 1).window(100)
                .timestamps(510, cookie.tsValue() + milliseconds), d.now);
        assertEquals(List.of(), d.engine.brokenInvariants());
        assertEquals(1, d.engine.connectionCount());
        assertEquals(1, d.engine.counters().synCookiesRejected);
        assertEquals(0, d.engine.counters().synCookiesAccepted);
        d.heard();
        // The place in the backlog is still the first one's, and goes with it.
        d.after(200_000);
        assertEquals(0, d.engine.connectionCount());
        assertEquals(Tcb.NEVER, d.engine.nextDeadlineNanos());
        assertEquals(List.of(), d.engine.brokenInvariants());
    }

    @ParameterizedTest
    @ValueSource(ints = {0, 64_000, 127_900})
    void aCookieOpensAConnectionAsLongAsItIsGood(int milliseconds) {
        Dialogue d = new Dialogue(TcpConfig.builder()).listen(1);
        // A period of cookies begins here: the whole life of one is before it.
        d.now = 64_000_000_000L * 5;
        d.hears("S 0 mss 1000").says("SA 0 ack 1");
        Segment cookie = cookie(d, 6000);
        d.now += milliseconds * 1_000_000L;
        d.engine.onSegment(from(6000).flags(TcpFlags.ACK).seq(78).ack(cookie.seq() + 1).window(100)
                .timestamps(510, cookie.tsValue()), d.now);
        d.heard("accepted");
        assertEquals(ESTABLISHED, d.events.accepted.state());
        assertEquals(List.of(), d.engine.brokenInvariants());
    }
}
