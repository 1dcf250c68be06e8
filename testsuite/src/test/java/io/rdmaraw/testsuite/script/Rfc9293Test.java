package io.rdmaraw.testsuite.script;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.rdmaraw.tcp.CloseReason;
import io.rdmaraw.tcp.TcpConfig;
import io.rdmaraw.tcp.TcpConnection;
import io.rdmaraw.tcp.TcpEngine;
import io.rdmaraw.tcp.TcpEvents;
import io.rdmaraw.tcp.TcpListener;
import io.rdmaraw.tcp.segment.Segment;
import io.rdmaraw.testsuite.sim.Packet;
import io.rdmaraw.testsuite.sim.SegmentCodec;
import io.rdmaraw.testsuite.sim.SplitMix;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

/** Checks the table of requirements: each label has a line, and each line names existing scripts and tests. */
class Rfc9293Test {
    private static final Path ROOT = Path.of("..");
    private static final Path DOCUMENT = ROOT.resolve("docs/lab/rfc9293.md");
    private static final String BEGIN = "<!-- requirements: made by Rfc9293Test, -Drdmaraw.writeTables=true -->\n";
    private static final String END = "<!-- end of requirements -->\n";
    private static final long SECOND = 1_000_000_000L;

    @Test
    void eachRequirementHasOneLine() {
        Set<String> expected = new TreeSet<>(Set.of("REC-1"));
        IntStream.rangeClosed(1, 69).forEach(i -> expected.add("MUST-" + i));
        IntStream.rangeClosed(1, 31).forEach(i -> expected.add("SHLD-" + i));
        IntStream.rangeClosed(1, 18).forEach(i -> expected.add("MAY-" + i));
        List<String> ids = Rfc9293.all().stream().map(Requirement::id).toList();
        assertEquals(expected, new TreeSet<>(ids));
        assertEquals(ids.size(), new TreeSet<>(ids).size(), "one line for each");
    }

    @Test
    void metRequirementsNameExistingChecksAndOthersStateWhy() throws IOException {
        Set<String> labels = Rfc9293.all().stream().map(Requirement::id).collect(Collectors.toSet());
        for (Script script : Scripts.all()) {
            assertTrue(labels.containsAll(script.proves()), script.name() + " proves " + script.proves());
        }
        for (Requirement r : Rfc9293.all()) {
            if (r.state() == Requirement.State.MET && r.isMust()) {
                assertFalse(Rfc9293.scriptsOf(r).isEmpty() && r.tests().isEmpty(), r.id() + " is shown by nothing");
            }
            if (r.state() == Requirement.State.NOT_MET || r.state() == Requirement.State.NOT_DONE) {
                assertTrue(Rfc9293.scriptsOf(r).isEmpty(), r.id() + " is shown to be met");
            }
            assertTrue(r.state() != Requirement.State.PARTLY || !r.note().isEmpty(), r.id() + " does not say why");
            assertTrue(r.state() != Requirement.State.NOT_MET || !r.isMust() || !r.note().isEmpty(),
                    r.id() + " does not say why");
            for (String test : r.tests()) {
                assertTrue(exists(test), r.id() + " names " + test);
            }
        }
    }

    /** Returns whether the sources contain a test class of this name, or a class and method. */
    static boolean exists(String test) throws IOException {
        String[] parts = test.split("\\.");
        try (Stream<Path> sources = Stream.of("transport-rdma-raw", "testsuite", "tools").flatMap(Rfc9293Test::tests)) {
            List<Path> found = sources.filter(file -> file.endsWith(parts[0] + ".java")).toList();
            return found.size() == 1 && (parts.length == 1
                    || Files.readString(found.getFirst()).contains("void " + parts[1] + "("));
        }
    }

    private static Stream<Path> tests(String module) {
        try {
            return Files.walk(ROOT.resolve(module).resolve("src").resolve("test").resolve("java"));
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    @Test
    void documentContainsTheTable() throws IOException {
        String document = Files.readString(DOCUMENT);
        int begin = document.indexOf(BEGIN) + BEGIN.length();
        int end = document.indexOf(END);
        assertTrue(begin >= BEGIN.length() && end >= begin, "docs/lab/rfc9293.md has no place for the table");
        if (Boolean.getBoolean("rdmaraw.writeTables")) {
            Files.writeString(DOCUMENT, document.substring(0, begin) + Rfc9293.table() + document.substring(end));
            return;
        }
        assertEquals(Rfc9293.table(), document.substring(begin, end),
                "run this test with -Drdmaraw.writeTables=true, and read what it has changed");
    }

    @Test
    void ipv6SegmentCarries1220BytesWithoutMssOption() {
        Server server = new Server();
        server.connection().send(Unpooled.buffer(3_000).writeZero(3_000));
        assertEquals(1_220, server.poll().payload.length);
    }

    @Test
    void firstKeepaliveProbeIsSentAfterTwoHours() {
        Server server = new Server();
        server.connection().keepAlive(true);
        server.pass(7_199 * SECOND);
        assertNull(server.poll());
        server.pass(2 * SECOND);
        Packet probe = server.poll();
        assertEquals(0, probe.payload.length);
        assertTrue(probe.has(Packet.ACK));
    }

    /** An engine with the default configuration over IPv6. Its only connection is from a peer that sent no options. */
    private static final class Server implements TcpEvents {
        private static final long PREFIX = 0x2001_0db8_0000_0000L;

        private final TcpEngine engine = new TcpEngine(TcpConfig.DEFAULT, this, new SplitMix(1)::nextLong, 0);
        private final SegmentCodec codec = new SegmentCodec();
        private final Segment in = new Segment();
        private final Segment out = new Segment();
        private TcpConnection connection;
        private long nowNanos;

        Server() {
            engine.listen(PREFIX, 1, 80, 16, null);
            Packet syn = packet(Packet.SYN, 0, 0);
            receive(syn);
            receive(packet(Packet.ACK, 1, poll().seq + 1));
        }

        private static Packet packet(int flags, int seq, int ack) {
            Packet packet = new Packet().route(PREFIX, 2, 5_000, PREFIX, 1, 80);
            packet.flags = flags;
            packet.seq = seq;
            packet.ack = ack;
            packet.window = 65_535;
            return packet;
        }

        private void receive(Packet packet) {
            assertTrue(codec.decode(packet.encode(), in));
            engine.onSegment(in, nowNanos);
        }

        Packet poll() {
            if (!engine.pollSegment(nowNanos, out)) {
                return null;
            }
            Packet packet = Packet.decode(codec.encode(out));
            out.releasePayload();
            return packet;
        }

        TcpConnection connection() {
            return connection;
        }

        void pass(long nanos) {
            nowNanos += nanos;
            engine.advance(nowNanos);
        }

        @Override
        public void accepted(TcpListener listener, TcpConnection opened) {
            connection = opened;
        }

        @Override
        public void connected(TcpConnection opened) {
            throw new AssertionError("opens nothing");
        }

        @Override
        public void data(TcpConnection from, ByteBuf buffer, int index, int length) {
            throw new AssertionError("is sent nothing");
        }

        @Override
        public void peerFinished(TcpConnection from) {
            throw new AssertionError("is sent no FIN");
        }

        @Override
        public void acked(TcpConnection from, int bytes) {
            throw new AssertionError("is acknowledged nothing");
        }

        @Override
        public void closed(TcpConnection from, CloseReason reason) {
            throw new AssertionError("stays open, not " + reason);
        }
    }
}
