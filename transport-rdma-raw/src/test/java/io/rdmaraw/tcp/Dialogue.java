package io.rdmaraw.tcp;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.rdmaraw.tcp.segment.Segment;
import io.rdmaraw.tcp.segment.TcpFlags;
import io.rdmaraw.wire.TcpOptions;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Deque;
import java.util.List;
import java.util.SplittableRandom;

/**
 * An engine and the segments that it exchanges with the test, which plays the peer. Segments are written as
 * {@code FLAGS seq [len n] [ack n] [win n] [mss n] [ws n] [sackOK] [cookie length/value] [ts value/echo] [sack
 * a-b,c-d] [ect] [ce]}. Numbers are relative to each end's initial sequence number, so a SYN has number 0 and the
 * first byte 1; the actual ones start shortly before zero. E, C and e are ECE, CWR and AE. Sent segments must
 * match completely, but win, ts and the options of a SYN are compared only if they are given.
 */
final class Dialogue {
    static final int ISS = -7;
    static final int IRS = -4;
    static final long HERE = 0xFFFF_0A00_0001L;
    static final long THERE = 0xFFFF_0A00_0002L;
    static final int PORT = 80;
    static final int PEER_PORT = 5000;
    private static final long MS = 1_000_000;
    private static final List<String> LENIENT = List.of("win", "ts", "mss", "ws", "sackOK", "option");

    final Recorder events = new Recorder();
    final TcpEngine engine;
    final TcpConfig config;
    TcpConnection c;
    long now = 5_000 * MS;
    /** Right edge of the window in the last segment. */
    int edge;
    /** SO_MARK of the last segment. */
    int soMark;
    private final Deque<String> said = new ArrayDeque<>();
    private final List<ByteBuf> buffers = new ArrayList<>();
    private final Segment segment = new Segment();
    private int localPort = PORT;

    Dialogue(TcpConfig.Builder builder) {
        config = builder.initialSequence(() -> ISS).build();
        engine = new TcpEngine(config, events, new SplittableRandom(3), now);
    }

    /** Returns a configuration without timestamps, which keeps segments short. */
    static TcpConfig.Builder plain() {
        return TcpConfig.builder().timestamps(false);
    }

    /** Returns a connection opened by us, after the handshake. The RTT is 10 ms. */
    static Dialogue established(TcpConfig.Builder builder) {
        return established(builder, "SA 0 ack 1 win 65535 mss 1000 ws 0 sackOK");
    }

    static Dialogue established(TcpConfig.Builder builder, String synAck) {
        Dialogue d = new Dialogue(builder).connect();
        d.says(d.config.ecn == TcpConfig.EcnMode.ACTIVE ? "SEC 0" : "S 0");
        d.after(10);
        d.hears(synAck);
        d.says("A 1 ack 1");
        assertEquals(List.of("connected"), d.events.events);
        d.events.events.clear();
        return d;
    }

    /** Disables the immediate ACKs at the start of a connection. */
    Dialogue withoutQuickAcks() {
        c.quickAcks = 0;
        return this;
    }

    Dialogue connect() {
        c = engine.connect(now, 0, HERE, 4000, 0, THERE, PEER_PORT, null, 0, null);
        localPort = 4000;
        return this;
    }

    Dialogue listen(int backlog) {
        engine.listen(0, 0, PORT, backlog, "listener");
        return this;
    }

    // ---- the dialogue ----

    /** Passes a segment from the peer to the engine. Its replies are stored for {@link #says}. */
    Dialogue hears(String text) {
        parse(text, segment);
        engine.onSegment(segment, now);
        segment.releasePayload();
        if (c == null && events.accepted != null) {
            c = events.accepted;
        }
        return this;
    }

    /** Checks that the engine sends exactly these segments now. */
    Dialogue says(String... expected) {
        poll();
        List<String> actual = new ArrayList<>();
        for (String text : expected) {
            if (said.isEmpty()) {
                break;
            }
            actual.add(reduce(said.poll(), text));
        }
        actual.addAll(said);
        said.clear();
        assertEquals(String.join("\n", expected), String.join("\n", actual));
        return this;
    }

    Dialogue saysNothing() {
        return says();
    }

    /** Lets time pass and runs timers when they expire. */
    Dialogue after(long millis) {
        poll();
        long limit = now + millis * MS;
        while (engine.nextDeadlineNanos() <= limit) {
            now = Math.max(now, engine.nextDeadlineNanos());
            engine.advance(now);
            poll();
        }
        now = limit;
        return this;
    }

    /**
     * Lets time pass until the engine sends a segment, at most {@code millis}. Fails if it sends none. Returns
     * the time in milliseconds.
     */
    long waits(long millis) {
        poll();
        long begin = now;
        long limit = now + millis * MS;
        while (said.isEmpty() && engine.nextDeadlineNanos() <= limit) {
            now = Math.max(now, engine.nextDeadlineNanos());
            engine.advance(now);
            poll();
        }
        assertEquals(false, said.isEmpty(), "nothing was said within " + millis + " ms");
        return (now - begin) / MS;
    }

    Dialogue send(int length) {
        ByteBuf buffer = Unpooled.wrappedBuffer(new byte[length]);
        buffers.add(buffer);
        c.send(buffer);
        c.push();
        return this;
    }

    Dialogue state(TcpState expected) {
        assertEquals(expected, c.state());
        return this;
    }

    Dialogue heard(String... expectedEvents) {
        assertEquals(Arrays.asList(expectedEvents), events.events);
        events.events.clear();
        return this;
    }

    /** Checks that all sent buffers are released. */
    void assertReleased() {
        for (ByteBuf buffer : buffers) {
            assertEquals(0, buffer.refCnt());
        }
    }

    // ---- notation ----

    private void poll() {
        Segment out = new Segment();
        while (engine.pollSegment(now, out)) {
            said.add(format(out));
            soMark = out.soMark;
            edge = out.ack + (out.window << (c == null ? 0 : c.rcvWndShift)) - IRS;
            out.releasePayload();
        }
    }

    private void parse(String text, Segment s) {
        String[] words = text.split(" ");
        s.clear().source(0, THERE, PEER_PORT).destination(0, HERE, localPort);
        for (char flag : words[0].toCharArray()) {
            s.flags |= switch (flag) {
                case 'S' -> TcpFlags.SYN;
                case 'A' -> TcpFlags.ACK;
                case 'F' -> TcpFlags.FIN;
                case 'R' -> TcpFlags.RST;
                case 'P' -> TcpFlags.PSH;
                case 'E' -> TcpFlags.ECE;
                case 'C' -> TcpFlags.CWR;
                case 'e' -> TcpFlags.AE;
                default -> throw new IllegalArgumentException(text);
            };
        }
        s.seq = IRS + Integer.parseInt(words[1]);
        s.window = 0xFFFF;
        for (int i = 2; i < words.length; i++) {
            switch (words[i]) {
                case "len" -> {
                    int length = Integer.parseInt(words[++i]);
                    s.payload(Unpooled.wrappedBuffer(new byte[length]), 0, length);
                }
                case "of" -> merge(s, Integer.parseInt(words[++i]));
                case "ack" -> s.ack = ISS + Integer.parseInt(words[++i]);
                case "win" -> s.window = Integer.parseInt(words[++i]);
                case "mss" -> s.mss = Integer.parseInt(words[++i]);
                case "ws" -> s.windowScale = Integer.parseInt(words[++i]);
                case "sackOK" -> s.sackPermitted = true;
                case "ts" -> {
                    String[] times = words[++i].split("/");
                    s.timestamps(Integer.parseInt(times[0]), Integer.parseInt(times[1]));
                }
                case "sack" -> {
                    for (String block : words[++i].split(",")) {
                        String[] ends = block.split("-");
                        s.addSack(ISS + Integer.parseInt(ends[0]), ISS + Integer.parseInt(ends[1]));
                    }
                }
                case "cookie" -> {
                    String[] parts = words[++i].split("/");
                    s.fastOpenCookie(Integer.parseInt(parts[0]), Long.parseLong(parts[1]), 0);
                }
                case "option" -> option(s, words[++i]);
                case "ce" -> s.ecn = Segment.ECN_CE;
                case "ect" -> s.ecn = Segment.ECN_ECT0;
                case "ect1" -> s.ecn = Segment.ECN_ECT1;
                default -> throw new IllegalArgumentException(text + ": " + words[i]);
            }
        }
    }

    /** Splits the payload into slices, as if merged from several frames. */
    private static void merge(Segment s, int segmentBytes) {
        int length = s.payloadLength;
        s.releasePayload();
        for (int at = 0; at < length; at += segmentBytes) {
            int part = Math.min(segmentBytes, length - at);
            s.addSlice(Unpooled.wrappedBuffer(new byte[part]), 0, part);
        }
        s.segmentSizeBytes = segmentBytes;
    }

    private String format(Segment s) {
        StringBuilder text = new StringBuilder();
        String letters = "SFRPAECe";
        int[] bits = {TcpFlags.SYN, TcpFlags.FIN, TcpFlags.RST, TcpFlags.PSH, TcpFlags.ACK, TcpFlags.ECE, TcpFlags.CWR,
                TcpFlags.AE};
        for (int i = 0; i < bits.length; i++) {
            if (s.has(bits[i])) {
                text.append(letters.charAt(i));
            }
        }
        text.append(' ').append(s.seq - ISS);
        if (s.payloadLength > 0) {
            text.append(" len ").append(s.payloadLength);
        }
        if (s.has(TcpFlags.ACK)) {
            text.append(" ack ").append(s.ack - IRS);
        }
        text.append(" win ").append(s.window);
        if (s.mss != 0) {
            text.append(" mss ").append(s.mss);
        }
        if (s.windowScale != Segment.ABSENT) {
            text.append(" ws ").append(s.windowScale);
        }
        if (s.sackPermitted) {
            text.append(" sackOK");
        }
        if (s.fastOpenCookieLengthBytes != Segment.ABSENT) {
            text.append(" cookie ").append(s.fastOpenCookieLengthBytes).append('/').append(s.fastOpenCookieHigh);
        }
        if (s.timestamps) {
            text.append(" ts ").append(s.tsValue).append('/').append(s.tsEcho);
        }
        for (int i = 0; i < s.sackCount; i++) {
            text.append(i == 0 ? " sack " : ",").append(s.sackStart(i) - IRS).append('-').append(s.sackEnd(i) - IRS);
        }
        text.append(" option ");
        if (s.accEcnCounters == Segment.ABSENT) {
            text.append("none");
        } else {
            text.append((s.accEcnCounters & TcpOptions.ACC_ECN_ECT1) == 0 ? "-" : s.accEcnEct1Bytes);
            text.append('/').append(s.accEcnCeBytes);
            text.append((s.accEcnCounters & TcpOptions.ACC_ECN_ECT0) == 0 ? "" : "/" + s.accEcnEct0Bytes);
        }
        return text + (s.ecn == Segment.ECN_ECT0 ? " ect" : "");
    }

    /** Adds an AccECN option: its counters of ECT(1), CE and ECT(0), or "empty". */
    private static void option(Segment s, String counters) {
        String[] bytes = counters.equals("empty") ? new String[0] : counters.split("/");
        int[] values = new int[3];
        for (int i = 0; i < bytes.length; i++) {
            values[i] = Integer.parseInt(bytes[i]);
        }
        s.accEcn((1 << bytes.length) - 1, values[0], values[1], values[2]);
    }

    /** Removes from {@code actual} the fields that are compared only if {@code expected} has them. */
    private static String reduce(String actual, String expected) {
        List<String> wanted = List.of(expected.split(" "));
        String[] words = actual.split(" ");
        StringBuilder text = new StringBuilder(words[0]);
        for (int i = 1; i < words.length; i++) {
            boolean hasValue = !words[i].equals("sackOK") && !words[i].equals("ect")
                    && !Character.isDigit(words[i].charAt(0))
                    && words[i].charAt(0) != '-';
            if (LENIENT.contains(words[i]) && !wanted.contains(words[i])) {
                i += hasValue ? 1 : 0;
                continue;
            }
            text.append(' ').append(words[i]);
        }
        return text.toString();
    }
}
