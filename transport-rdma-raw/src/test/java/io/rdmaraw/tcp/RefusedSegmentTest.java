package io.rdmaraw.tcp;

import static io.rdmaraw.tcp.Dialogue.established;
import static io.rdmaraw.tcp.Dialogue.plain;
import static io.rdmaraw.tcp.TcpState.*;
import static org.junit.jupiter.api.Assertions.assertEquals;

import java.lang.reflect.Field;
import java.lang.reflect.Modifier;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.TreeMap;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * A rejected segment may cause an answer but must not change the connection, because an off-path attacker may
 * have guessed it.
 */
class RefusedSegmentTest {
    /** Fields that an answer, or the counters of received segments, may change. */
    private static final List<String> MAY_CHANGE = List.of("segmentsIn", "segmentsOut", "lastChallengeNanos",
            "dsackStart", "dsackEnd", "nextInOutputQueue", "deadlineNanos", "quickAcks", "extras");

    /** Returns the fields of a control block. Referenced objects are compared by identity. */
    private static Map<String, Object> variablesOf(TcpConnection c) throws IllegalAccessException {
        Map<String, Object> variables = new TreeMap<>();
        addVariables(variables, Tcb.class, c);
        addVariables(variables, TcpConnection.class, c);
        // The extras are created on first use, so their creation is not a change.
        addVariables(variables, ConnectionExtras.class, c.extras == null ? new ConnectionExtras() : c.extras);
        return variables;
    }

    private static void addVariables(Map<String, Object> variables, Class<?> type, Object of)
            throws IllegalAccessException {
        for (Field field : type.getDeclaredFields()) {
            if (!Modifier.isStatic(field.getModifiers()) && !MAY_CHANGE.contains(field.getName())) {
                field.setAccessible(true);
                variables.put(field.getName(), field.get(of));
            }
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {
        // revealed by the ACK field: data that was never sent, or acknowledged long ago
        "PA 1 len 10 ack 10001 win 7 ts 200000/0", "A 1 ack 10001 win 7 ts 200000/0 sack 1-101",
        "FA 1 ack 10001 ts 200000/0 ce", "PA 1 len 10 ack -70000 win 7 ts 200000/0", "ECA 1 ack -70000 ts 200000/0 ce",
        // no ACK, or a SYN
        "P 1 len 10 ts 200000/0", "F 1 ts 200000/0 ce", "S 1 mss 100 ts 200000/0", "SA 0 ack 1 mss 100 ts 200000/0",
        // outside the window
        "PA -99 len 10 ack 101 win 7 ts 200000/0", "A 5000000 len 10 ack 101 win 7 ts 200000/0",
        // old timestamps
        "PA 1 len 10 ack 101 win 7 ts 999/0 ce", "FA 1 ack 101 win 7 ts 999/0",
        // RSTs that are not exact
        "R 2 ts 200000/0", "R 0 ts 200000/0", "RA 500 ack 101 ts 200000/0"})
    void rejectedSegmentChangesNothing(String text) throws IllegalAccessException {
        Dialogue d = established(TcpConfig.builder().ecn(TcpConfig.EcnMode.ACTIVE),
                "SEA 0 ack 1 mss 1000 sackOK ts 1000/0");
        d.send(100).says("PA 1 len 100 ack 1 ect");
        d.after(1);
        Map<String, Object> before = variablesOf(d.c);
        d.hears(text).after(0);
        Map<String, Object> after = variablesOf(d.c);
        Map<String, Object> changed = new TreeMap<>(before);
        changed.entrySet().removeIf(variable -> Objects.equals(variable.getValue(), after.get(variable.getKey())));
        assertEquals(Map.of(), changed, "changed, from");
        assertEquals(100, d.c.queuedBytes());
        // segments of the real peer are still accepted
        d.events.events.clear();
        d.hears("PA 1 len 10 ack 101 ts 1001/0");
        assertEquals(10, d.events.received.size());
        assertEquals(0, d.c.queuedBytes());
    }

    // ---- challenges before the handshake is complete ----

    @Test
    void synWithOtherNumberIsChallengedDuringHandshake() {
        Dialogue d = new Dialogue(plain()).listen(8);
        d.hears("S 0 mss 1000").says("SA 0 ack 1");
        // The client has restarted and uses the same port. It answers the challenge with RST and starts again.
        d.hears("S 500000 mss 1000").says("A 1 ack 1");
        assertEquals(1, d.engine.counters().challengeAcks);
        d.hears("R 1").saysNothing();
        assertEquals(0, d.engine.connectionCount());
        d.hears("S 500000 mss 1000").says("SA 0 ack 500001");
    }

    @Test
    void segmentOutsideWindowIsAnsweredDuringHandshake() {
        Dialogue d = new Dialogue(plain()).listen(8);
        d.hears("S 0 mss 1000").says("SA 0 ack 1");
        d.hears("A 900000 ack 1").says("A 1 ack 1");
        d.hears("A 900000 ack 1").saysNothing();
        d.hears("A 1 ack 1").heard("accepted");
    }

    /**
     * The window of a SYN-ACK is not scaled. A challenge must not advertise more, because the SYN-ACK may follow
     * it.
     */
    @Test
    void challengeAdvertisesNoMoreThanSynAck() {
        Dialogue d = new Dialogue(plain().initialReceiveBufferBytes(1 << 20)).listen(8);
        d.hears("S 0 mss 1000 ws 4").says("SA 0 ack 1 win 65535 ws 5");
        d.hears("S 500000 mss 1000").says("A 1 ack 1 win 2047");
        d.hears("S 0 mss 1000 ws 4").says("SA 0 ack 1 win 65535 ws 5");
        d.hears("PA 1 len 10 ack 1").says("A 1 ack 11 win 32768");
    }

    /** The source address of the SYNs may be forged: its owner gets the SYN-ACKs. */
    @Test
    void repeatedSynsAreAnsweredAtALimitedRate() {
        Dialogue d = new Dialogue(plain()).listen(8);
        d.hears("S 0 mss 1000").says("SA 0 ack 1");
        d.hears("S 0 mss 1000").says("SA 0 ack 1");
        for (int i = 0; i < 50; i++) {
            d.after(1).hears("S 0 mss 1000").saysNothing();
        }
        d.after(100).hears("S 0 mss 1000").says("SA 0 ack 1");
        d.hears("A 1 ack 1").heard("accepted");
    }

    @Test
    void repeatedSynWithDataIsAnsweredLikeTheFirst() {
        Dialogue d = new Dialogue(plain()).listen(8);
        d.hears("S 0 len 10 mss 1000").says("SA 0 ack 1");
        d.hears("S 0 len 10 mss 1000").says("SA 0 ack 1");
        assertEquals(0, d.engine.counters().challengeAcks);
        d.hears("PA 1 len 10 ack 1").says("A 1 ack 11");
    }

    // ---- RST ----

    /** A peer that was killed after its FIN may send a RST with the number of the FIN. */
    @Test
    void resetWithNumberOfFinIsAccepted() {
        Dialogue established = established(plain());
        established.hears("R 0").saysNothing().state(ESTABLISHED);

        Dialogue closeWait = established(plain());
        closeWait.hears("FA 1 ack 1").says("A 1 ack 2").hears("R 0").saysNothing().state(CLOSE_WAIT);
        closeWait.hears("R 1").heard("peerFinished", "closed RESET_BY_PEER");

        Dialogue lastAck = established(plain());
        lastAck.hears("FA 1 ack 1").c.close();
        lastAck.says("FA 1 ack 2").hears("R 1").heard("peerFinished", "closed FINISHED");

        Dialogue closing = established(plain());
        closing.c.shutdownOutput();
        closing.says("FA 1 ack 1").hears("FA 1 ack 1").says("A 2 ack 2").state(CLOSING);
        closing.hears("R 1").heard("peerFinished", "closed FINISHED");
    }

    /** The peer sent more data than arrived in order. Its RST has the number after that data. */
    @Test
    void resetAfterSackedDataIsAccepted() {
        Dialogue d = established(plain());
        d.hears("A 101 len 100 ack 1").hears("A 301 len 100 ack 1");
        d.says("A 1 ack 1 sack 301-401,101-201");
        d.hears("R 201").says("A 1 ack 1 sack 301-401,101-201").state(ESTABLISHED);
        d.hears("R 401").heard("closed RESET_BY_PEER");

        Dialogue noSack = established(plain(), "SA 0 ack 1 mss 1000");
        noSack.hears("A 101 len 100 ack 1").says("A 1 ack 1");
        noSack.hears("R 201").says("A 1 ack 1").state(ESTABLISHED);
    }

    // ---- SYN and FIN together ----

    @Test
    void synWithFinOpensNothing() {
        Dialogue d = new Dialogue(plain()).listen(8);
        d.hears("SF 0 mss 1000").hears("SF 0 len 5 mss 1000").saysNothing();
        assertEquals(0, d.engine.connectionCount());
        assertEquals(2, d.engine.counters().synFinDrops);
        d.hears("S 0 mss 1000").says("SA 0 ack 1");
    }

    @Test
    void synWithFinDoesNotEndTimeWait() {
        Dialogue d = timeWait(plain());
        d.hears("SF 500000 mss 1000");
        assertEquals(1, d.engine.timeWaitCount());
        assertEquals(0, d.engine.connectionCount());
    }

    // ---- TIME-WAIT assassination (RFC 1337) ----

    private static Dialogue timeWait(TcpConfig.Builder builder) {
        Dialogue d = established(builder);
        d.c.shutdownOutput();
        d.says("FA 1 ack 1").hears("A 1 ack 2").hears("FA 1 ack 2").says("A 2 ack 2");
        assertEquals(1, d.engine.timeWaitCount());
        return d;
    }

    /** An old duplicate causes an ACK. The peer, which has removed the connection, answers it with RST. */
    @Test
    void resetEndsTimeWaitUnlessConfiguredOtherwise() {
        Dialogue linux = timeWait(plain());
        linux.hears("A 1 len 10 ack 1").says("A 2 ack 2").hears("R 2");
        assertEquals(0, linux.engine.timeWaitCount());

        Dialogue fixed = timeWait(plain().ignoreResetsInTimeWait(true));
        fixed.hears("A 1 len 10 ack 1").says("A 2 ack 2").hears("R 2").hears("R 7").saysNothing();
        assertEquals(1, fixed.engine.timeWaitCount());
        assertEquals(2, fixed.engine.counters().timeWaitResetsIgnored);
        assertEquals(1, linux.engine.counters().resetsIn);
        assertEquals(0, fixed.engine.counters().resetsIn);
    }

    @Test
    void comparisonDetectsChanges() throws IllegalAccessException {
        Dialogue d = established(plain());
        String before = variablesOf(d.c).toString();
        d.hears("PA 1 len 10 ack 1").says("A 1 ack 11");
        assertEquals(false, before.equals(variablesOf(d.c).toString()));
        assertEquals(true, Arrays.asList(before.split("[{,= ]+")).contains("tsRecent"));
    }
}
