package io.rdmaraw.testsuite.contract;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.netty.buffer.Unpooled;
import io.netty.channel.socket.DuplexChannel;
import io.netty.channel.socket.nio.NioSocketChannel;
import io.rdmaraw.testsuite.contract.BufferKind.After;
import io.rdmaraw.testsuite.contract.BufferKind.Shape;
import io.rdmaraw.testsuite.contract.Step.Numbered;
import io.rdmaraw.testsuite.contract.WriteSteps.Promised;
import java.io.ByteArrayOutputStream;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.Collection;
import java.util.EnumMap;
import java.util.EnumSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

class ContractTest {
    private static final int SEEDS = 600;
    private static final int MAX_ACCEPTED = 40;
    private static final Pattern ENTRY = Pattern.compile("^\\| `([a-z-]+)` \\|", Pattern.MULTILINE);

    @Test
    @Tag("slow")
    void generatedProgramsObserveTheSameOnAllTransports() throws Exception {
        ByteArrayOutputStream text = new ByteArrayOutputStream();
        PrintStream out = new PrintStream(text, true, StandardCharsets.UTF_8);
        ContractRunner runner = new ContractRunner(1, SEEDS, 2 * Runtime.getRuntime().availableProcessors(), true, null,
                out);
        Map<String, Long> others = runner.run();
        String printed = text.toString(StandardCharsets.UTF_8);
        System.out.println(printed);
        Set<KnownFaults> absent = EnumSet.allOf(KnownFaults.class);
        absent.removeAll(runner.known().keySet());
        // A run does not trigger every known fault, so an absent one is no failure.
        System.out.println("known faults that did not occur, and may be repaired: " + absent);
        assertEquals(Map.of(), alone(others.values()), printed);
    }

    /**
     * Runs the seeds again, one at a time, and returns the differences that occur again. On a busy machine, a
     * difference may come only from a thread that waited for a processor.
     */
    private static Map<String, Long> alone(Collection<Long> seeds) throws Exception {
        Map<String, Long> again = new TreeMap<>();
        for (long seed : new TreeSet<>(seeds)) {
            again.putAll(new ContractRunner(seed, 1, 1, false, null, System.out).run());
        }
        return again;
    }

    /** A socket channel with a planted fault: it never reports that its output is shut down. */
    public static final class Faulty extends NioSocketChannel {
        @Override
        public boolean isOutputShutdown() {
            return false;
        }
    }

    @Test
    void plantedFaultIsFoundAndShrunk() {
        Transport nio = Transport.nio();
        Transport faulty = new Transport("faulty", nio.newGroup(), nio.newKernelGroup(), nio.server(), Faulty.class,
                nio.datagram());
        List<Numbered> steps = List.of(
                new Numbered(0, new WriteSteps.Write(0, BufferKind.HEAP, Shape.WHOLE, 100, After.NOTHING,
                        Promised.NORMAL, true)),
                new Numbered(1, new LoopSteps.OnLoop(0, List.of(
                        new Numbered(2, new StreamSteps.Invoke(0, StreamSteps.Call.CLOSE)),
                        new Numbered(3, new LoopSteps.Settle())))));
        Map<Choice, Integer> choices = new EnumMap<>(Map.of(Choice.WATERMARKS, 1, Choice.MORE_CONNECTIONS, 1));
        try (Comparison comparison = Comparison.patient(faulty)) {
            Difference found = comparison.compare(new Program(1, choices, steps), any -> false).stream()
                    .filter(each -> each.key().equals("client0.shutdowns")).findFirst().orElseThrow();
            Difference smallest = Shrinker.shrink(comparison, found);
            assertEquals("[inputShutdown shutdown]", smallest.ours().toString());
            assertEquals(Map.of(), smallest.program().choices());
            assertEquals("// seed 1\nclient0.CLOSE() /* 2 */;\n", smallest.program().source());
        }
    }

    @Test
    void seedMakesTheSameProgramEachTime() {
        Set<String> sources = new TreeSet<>();
        for (long seed = 1; seed <= 500; seed++) {
            String source = ProgramGenerator.generate(seed).source();
            assertEquals(source, ProgramGenerator.generate(seed).source());
            sources.add(source);
        }
        assertEquals(500, sources.size());
    }

    @Test
    void acceptedDifferencesAreThoseOfTheDocument() throws Exception {
        String document = Files.readString(repository().resolve("docs/reference/differences.md"));
        Set<String> documented = ENTRY.matcher(document).results().map(entry -> entry.group(1))
                .collect(Collectors.toCollection(TreeSet::new));
        Set<String> checked = Arrays.stream(AcceptedDifferences.values()).map(AcceptedDifferences::id)
                .collect(Collectors.toCollection(TreeSet::new));
        assertEquals(documented, checked);
        assertTrue(checked.size() <= MAX_ACCEPTED, checked.size() + " differences are too many");
    }

    /** Before the loop has run the task of the write, nothing shows that bytes are on their way. */
    @Test
    void stepWaitsForBytesWhoseWriteIsStillTask() {
        Program program = new Program(1, Map.of(), List.of(new Numbered(0, new WriteSteps.Write(1,
                BufferKind.ADAPTIVE_HEAP, Shape.WHOLE, 43_515, After.NOTHING, Promised.NORMAL, true))));
        for (int i = 0; i < 10; i++) {
            assertEquals("all", runHere(program).get("client0.received"));
        }
    }

    @Test
    void writeFailsOnlyIfLoopOfPeerHasEnded() {
        Difference found = difference("step1.promise", "IOException", "ok", false,
                new Numbered(0, new LoopSteps.EndGroup(false, false)), new Numbered(1, write(1)));
        assertTrue(AcceptedDifferences.accept(found));
        assertFalse(AcceptedDifferences.accept(difference("step1.promise", "IOException", "ok", false,
                new Numbered(0, new LoopSteps.EndGroup(true, false)), new Numbered(1, write(1)))));
        assertFalse(AcceptedDifferences.accept(difference("step1.promise", "pending", "ok", false,
                new Numbered(0, new LoopSteps.EndGroup(false, false)), new Numbered(1, write(1)))));
    }

    @Test
    void finOfChannelClosedInReadComesLater() {
        Numbered close = new Numbered(1, new StreamSteps.Invoke(1, StreamSteps.Call.DISCONNECT));
        Numbered wait = new Numbered(2, new LoopSteps.AwaitReceived(0));
        assertTrue(AcceptedDifferences.accept(difference("step2.arrived", "true", "-", false,
                new Numbered(0, new LoopSteps.Hook(1, Endpoint.On.READ, List.of(close, wait))))));
        assertFalse(AcceptedDifferences.accept(difference("step2.arrived", "true", "-", false,
                new Numbered(0, new LoopSteps.Hook(1, Endpoint.On.READ, List.of(wait))), close)));
    }

    @Test
    void abortOfClientWithLingerZeroMayLoseBytes() {
        Numbered close = new Numbered(0, new StreamSteps.Invoke(0, StreamSteps.Call.CLOSE));
        Program program = new Program(1, Map.of(Choice.LINGER, 1), List.of(close));
        assertTrue(AcceptedDifferences.accept(received(program, "accepted0", "w3=part")));
        assertFalse(AcceptedDifferences.accept(received(program, "accepted0", "w3=changed")));
        assertFalse(AcceptedDifferences.accept(received(program, "accepted1", "w3=part")));
        assertFalse(AcceptedDifferences.accept(received(program.without(Choice.LINGER), "accepted0", "w3=part")));
    }

    private static Difference received(Program program, String channel, String ours) {
        return new Difference(program, channel + ".received", Set.of(ours), Set.of("all"), Set.of("all"), false,
                false);
    }

    @Test
    void onlyEmptyWriteMayFailAfterReset() {
        Numbered empty = new Numbered(0, new WriteSteps.Write(0, BufferKind.HEAP, Shape.WHOLE, 0, After.NOTHING,
                Promised.NORMAL, true));
        assertTrue(AcceptedDifferences.accept(difference("step0.promise", "IOException", "ok", false, empty)));
        assertFalse(AcceptedDifferences.accept(difference("step0.promise", "IOException", "ok", false,
                new Numbered(0, write(0)))));
    }

    @Test
    void stepThatNeedsSecondReadMayNotBeReached() {
        Numbered inner = new Numbered(2, write(1));
        Numbered second = new Numbered(1, new LoopSteps.Hook(0, Endpoint.On.READ, List.of(inner)));
        Numbered first = new Numbered(0, new LoopSteps.Hook(0, Endpoint.On.READ, List.of(second)));
        assertTrue(AcceptedDifferences.accept(difference("step2.promise", "-", "ok", false, first)));
        assertFalse(AcceptedDifferences.accept(difference("step2.promise", "-", "ok", false, second)));
    }

    @Test
    void resetTakesTimeOnlyOnConnectionWhoseEndHasShutDown() {
        Numbered shutdown = new Numbered(0, new StreamSteps.Invoke(0, StreamSteps.Call.SHUTDOWN));
        Numbered write = new Numbered(1, write(1));
        assertTrue(AcceptedDifferences.accept(difference("accepted0.state", "open", "", false, shutdown, write)));
        assertFalse(AcceptedDifferences.accept(difference("accepted1.state", "open", "", false, shutdown, write)));
        assertFalse(AcceptedDifferences.accept(difference("accepted0.state", "open", "", false, shutdown)));
    }

    @Test
    void allocatorThatThrowsExplainsOnlyUnreadBytesAndTimeOfException() {
        String events = "registered active read inputShutdown closed";
        String thrown = "registered active readComplete !AssertionError inputShutdown closed";
        assertTrue(AcceptedDifferences.accept(throwing("accepted0.events", events, thrown, false)));
        assertFalse(AcceptedDifferences.accept(throwing("accepted0.events", "registered active read closed", thrown,
                false)));
        assertTrue(AcceptedDifferences.accept(throwing("accepted0.state", "open", "", true)));
        assertFalse(AcceptedDifferences.accept(throwing("accepted0.state", "open", "", false)));
        assertFalse(AcceptedDifferences.accept(throwing("accepted0.lengths", "over the limit", "within the limit",
                true)));
        assertFalse(AcceptedDifferences.accept(throwing("accepted", "1", "2", true)));
    }

    /** Returns a difference of a program whose accepted channels have an allocator that throws in {@code allocate}. */
    private static Difference throwing(String key, String ours, String rivals, boolean rivalsThrew) {
        return new Difference(new Program(1, Map.of(Choice.RECEIVE, 10), List.of()), key, Set.of(ours),
                Set.of(rivals), Set.of(rivals), rivalsThrew, false);
    }

    private static Difference difference(String key, String ours, String rivals, boolean rivalsThrew,
            Numbered... steps) {
        return new Difference(new Program(1, Map.of(), List.of(steps)), key, Set.of(ours), Set.of(rivals),
                Set.of(rivals), rivalsThrew, false);
    }

    private static WriteSteps.Write write(int end) {
        return new WriteSteps.Write(end, BufferKind.HEAP, Shape.WHOLE, 100, After.NOTHING, Promised.NORMAL, true);
    }

    /** NIO closes a channel that connects again. epoll closes a paused channel when its peer closes. */
    @Test
    void channelStaysOpenAfterSecondConnectAndPeersEnd() {
        Numbered connect = new Numbered(0, new StreamSteps.Invoke(1, StreamSteps.Call.CONNECT_AGAIN));
        Numbered close = new Numbered(2, new StreamSteps.Invoke(0, StreamSteps.Call.CLOSE));
        Program program = new Program(1, Map.of(Choice.PAUSED, 1), List.of(connect, new Numbered(1, write(0)), close));
        Map<String, String> seen = runHere(program);
        assertEquals("AlreadyConnectedException", seen.get("step0.CONNECT_AGAIN"));
        assertEquals("open active registered writable", seen.get("accepted0.state"));
        assertTrue(AcceptedDifferences.accept(paused("accepted0.state", connect, close)));
        assertFalse(AcceptedDifferences.accept(paused("client0.state", connect, close)));
        assertFalse(AcceptedDifferences.accept(paused("accepted0.state", close)));
    }

    private static Difference paused(String key, Numbered... steps) {
        return new Difference(new Program(1, Map.of(Choice.PAUSED, 1), List.of(steps)), key, Set.of("open"),
                Set.of(""), Set.of(""), false, false);
    }

    private static Map<String, String> runHere(Program program) {
        Groups groups = new Groups(Transport.rdmaRaw());
        try {
            return new ProgramRun(program, groups, 1_000_000_000).run();
        } finally {
            groups.discard();
        }
    }

    @Test
    void writeToEndedLoopFails() {
        Program program = new Program(1, Map.of(Choice.HALF_CLOSURE, 1), List.of(
                new Numbered(0, new LoopSteps.EndGroup(false, false)), new Numbered(1, write(1))));
        assertExplained(program, "step1.promise", AcceptedDifferences.WRITE_TO_ENDED_LOOP);
    }

    @Test
    void outputStaysOpenAfterEchoToClosedPeerUntilNextWrite() {
        Map<Choice, Integer> choices = Map.of(Choice.ECHO, 2, Choice.HALF_CLOSURE, 3, Choice.NO_AUTO_CLOSE, 1);
        Numbered region = new Numbered(0, new WriteSteps.Region(0, Regions.Kind.SHORT_FILE, 14_676, Promised.NORMAL,
                true));
        assertEquals("inputShutdown", runHere(new Program(1, choices, List.of(region))).get("accepted0.shutdowns"));
        List<Numbered> steps = List.of(region, new Numbered(1, new WriteUntilOutputEnds(1)));
        Map<String, String> seen = runHere(new Program(1, choices, steps));
        assertEquals("inputShutdown outputShutdown shutdown", seen.get("accepted0.shutdowns"), seen.toString());
        assertTrue(AcceptedDifferences.accept(shutdowns(choices)));
        assertFalse(AcceptedDifferences.accept(shutdowns(Map.of(Choice.NO_AUTO_CLOSE, 1))));
        assertFalse(AcceptedDifferences.accept(shutdowns(Map.of(Choice.ECHO, 1))));
    }

    /** Writes until a write finds the peer's reset, which may arrive after any number of writes. */
    private record WriteUntilOutputEnds(int end) implements Step {
        @Override
        public void run(ProgramRun run, int id) {
            DuplexChannel channel = (DuplexChannel) run.end(end).channel;
            run.awaitLong(() -> {
                channel.writeAndFlush(Unpooled.wrappedBuffer(new byte[100])).awaitUninterruptibly();
                return channel.isOutputShutdown();
            });
        }

        @Override
        public String source(int id) {
            return "writeUntilOutputEnds(" + Program.name(end) + ")";
        }
    }

    /**
     * The client closes when its region fails, and resets the echo. NIO and epoll echo in two reads, and close because
     * the second echo fails. Here all bytes are in one read, and the channel closes when it writes again.
     */
    @Test
    void channelStaysOpenAfterEchoToClientWhoseRegionFails() {
        Map<Choice, Integer> choices = Map.of(Choice.ECHO, 2, Choice.HALF_CLOSURE, 1);
        Numbered region = new Numbered(0, new WriteSteps.Region(0, Regions.Kind.SHORT_FILE, 16_988, Promised.NORMAL,
                true));
        assertEquals("", runHere(new Program(1, choices, List.of(region, new Numbered(1, new WriteUntilOutputEnds(1)))))
                .get("accepted0.state"));
        assertTrue(AcceptedDifferences.accept(open(new Program(1, choices, List.of(region)))));
        assertFalse(AcceptedDifferences.accept(open(new Program(1, Map.of(Choice.ECHO, 2), List.of(region)))));
        assertFalse(AcceptedDifferences.accept(open(new Program(1, choices, List.of()))));
        Program program = new Program(1, choices, List.of(region));
        assertFalse(AcceptedDifferences.accept(found(program, "accepted0.state", "", "open")));
        assertFalse(AcceptedDifferences.accept(found(program, "client0.state", "open", "")));
        String closed = "inputShutdown outputShutdown shutdown";
        assertTrue(AcceptedDifferences.accept(found(program, "accepted0.shutdowns", "inputShutdown", closed)));
        assertFalse(AcceptedDifferences.accept(found(program, "accepted0.shutdowns", closed, "inputShutdown")));
    }

    private static Difference open(Program program) {
        return found(program, "accepted0.state", "open", "");
    }

    private static Difference found(Program program, String key, String ours, String rivals) {
        return new Difference(program, key, Set.of(ours), Set.of(rivals), Set.of(rivals), false, false);
    }

    private static Difference shutdowns(Map<Choice, Integer> choices) {
        Set<String> rivals = Set.of("inputShutdown outputShutdown shutdown");
        return new Difference(new Program(1, choices, List.of()), "accepted0.shutdowns", Set.of("inputShutdown"),
                rivals, rivals, false, false);
    }

    /** Asserts that a difference occurs and that one rule alone accepts it. */
    private static void assertExplained(Program program, String key, AcceptedDifferences rule) {
        try (Comparison comparison = Comparison.patient(Transport.rdmaRaw())) {
            Difference found = comparison.compare(program, any -> false).stream()
                    .filter(each -> each.key().equals(key)).findFirst().orElseThrow();
            assertEquals(List.of(rule), Arrays.stream(AcceptedDifferences.values())
                    .filter(each -> each.explains(found)).toList(), found.toString());
        }
    }

    private static Path repository() {
        Path at = Path.of("").toAbsolutePath();
        while (!Files.exists(at.resolve("rdma-raw"))) {
            at = at.getParent();
        }
        return at;
    }

    @Test
    void receivedBytesAreComparedByWrite() {
        List<WriteRecord> writes = List.of(new WriteRecord(1, 10), new WriteRecord(2, 20), new WriteRecord(3, 5));
        byte[] all = new byte[35];
        System.arraycopy(Content.of(1, 10, false), 0, all, 0, 10);
        System.arraycopy(Content.of(2, 20, false), 0, all, 10, 20);
        System.arraycopy(Content.of(3, 5, false), 0, all, 30, 5);
        assertEquals("all", Content.compare(writes, all, 35));
        assertEquals("w2=part w3=missing", Content.compare(writes, all, 25));
        assertEquals("w2=missing w3=missing", Content.compare(writes, all, 10));
        byte[] changed = all.clone();
        changed[20] ^= 1;
        assertEquals("w2=changed", Content.compare(writes, changed, 35));
        assertEquals("w1=changed", Content.compare(List.of(new WriteRecord(1, 4)), Content.of(1, 4, true), 4));
    }

    @Test
    void readsAreJoinedInTheLog() {
        assertEquals("active read closed", EventLog.normalise("active r r c r c closed "));
        assertEquals("active readComplete !Error read", EventLog.normalise("active c !Error r c "));
        assertEquals("read-unfinished inactive", EventLog.normalise("r  r inactive "));
        assertEquals("read !AssertionError closed", EventLog.normalise("r c !AssertionError c closed "));
        assertEquals("read !AssertionError closed", EventLog.normalise("r c !AssertionError r c c closed "));
        assertEquals("read-unfinished !ProgramException readComplete",
                EventLog.normalise("r !ProgramException r c "));
        assertEquals("read-unfinished !ProgramException readComplete", EventLog.normalise("r !ProgramException c "));
        assertEquals("read-unfinished !AssertionError", EventLog.normalise("r !AssertionError c "));
    }

    @Test
    void complainsAboutArgumentsThatMakeNoSense() throws Exception {
        ByteArrayOutputStream text = new ByteArrayOutputStream();
        PrintStream out = new PrintStream(text, true, StandardCharsets.UTF_8);
        assertEquals(2, ContractMain.run(new String[] {"--seeds", "many"}, out));
        assertEquals(2, ContractMain.run(new String[] {"--seeds", "0"}, out));
        assertEquals(2, ContractMain.run(new String[] {"--from"}, out));
        assertEquals(2, ContractMain.run(new String[] {"--frobnicate"}, out));
        assertTrue(text.toString(StandardCharsets.UTF_8).contains("usage"));
    }
}
