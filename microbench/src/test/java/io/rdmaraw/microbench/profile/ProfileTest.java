package io.rdmaraw.microbench.profile;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import com.fasterxml.jackson.databind.JsonNode;
import io.rdmaraw.microbench.BenchRun;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

@Timeout(120)
@Tag("slow")
class ProfileTest {
    private static final String LOOP = "java.lang.Thread.run_[j];io.netty.channel.SingleThreadIoEventLoop.run_[j];";

    private static final String HOME = "rdmaraw.home";
    private static final String HOME_BEFORE = System.getProperty(HOME);

    @TempDir
    private Path directory;

    /** The launcher stores the profiler below the directory of the project. */
    @BeforeAll
    static void setHome() {
        System.setProperty(HOME, "..");
    }

    @AfterAll
    static void restoreHome() {
        if (HOME_BEFORE == null) {
            System.clearProperty(HOME);
        } else {
            System.setProperty(HOME, HOME_BEFORE);
        }
    }

    private static Costs costs(String... stacks) {
        return new Costs(Samples.ofCollapsed("a test", Stream.of(stacks)));
    }

    @Test
    void timeCountsToTheInnermostCallOfALayer() {
        Costs costs = costs(
                LOOP + "io.rdmaraw.verbs.objects.HotCalls.poll_[i];nep_invoker_blob;"
                        + "libsoftverbs_linux_x86_64.so`sv_poll_cq 40",
                LOOP + "io.rdmaraw.verbs.objects.HotCalls.poll_[i];"
                        + "libsoftverbs_linux_x86_64.so`sv_poll_cq;libc.so.6`memcpy 10",
                LOOP + "io.rdmaraw.queue.SendRing.offer_[j];java.lang.invoke.VarHandleGuards.guard_LJ_V_[i] 20",
                LOOP + "io.rdmaraw.tcp.Sender.send_[j] 9", LOOP + "io.rdmaraw.channel.Inbox.read_[j] 8",
                LOOP + "org.example.Handler.channelRead_[j] 7", LOOP + "libjvm.so`ObjectMonitor::enter 3",
                LOOP + "io.rdmaraw.ffi.Poll.ppoll_[j];libc.so.6`ppoll;do_syscall_64_[k] 3");
        assertEquals(List.of("device (softverbs, libibverbs, libmlx5) 50", "queues, memory, verbs 20",
                "TCP, IP, headers 9", "channels and loops 8", "handlers 7", "kernel 3", "JVM 3"),
                lines(costs.layers()));
        assertEquals(List.of("sv_poll_cq 50", "io.rdmaraw.queue.SendRing.offer 20", "io.rdmaraw.tcp.Sender.send 9"),
                lines(costs.methods()).subList(0, 3));
        JsonNode json = costs.toJson();
        assertEquals(100, json.get("samples").asInt());
        assertEquals(50, json.get("layers").get(0).get("percent").asDouble());
        assertEquals("TCP, IP, headers", json.get("methods").get(2).get("layer").asText());
    }

    private static List<String> lines(List<Costs.Cost> costs) {
        List<String> lines = new ArrayList<>();
        costs.forEach(cost -> lines.add(cost.name() + ' ' + Math.round(cost.percent())));
        return lines;
    }

    @Test
    void everyPackageOfTheTransportIsOfALayer() throws IOException {
        try (Stream<Path> packages = Files.list(Path.of("../transport-rdma-raw/src/main/java/io/rdmaraw"))) {
            packages.map(each -> "io.rdmaraw." + each.getFileName() + ".A.b").forEach(name ->
                    assertNotEquals(Layer.HANDLER, Layer.of(StackFrame.ofJava(name)), name));
        }
    }

    @Test
    void linesWithoutAStackAreSkippedAndAnUnnamedLibraryIsADevice() {
        Samples samples = Samples.ofCollapsed("a test", Stream.of("", "# a comment", "a;b x",
                LOOP + "/tmp/libsoftverbs123.so (deleted) 4", "libc.so.6`start_thread;libjvm.so`GCTask 2"));
        assertEquals(6, samples.count());
        assertTrue(samples.stacks().getFirst().isOfLoop());
        assertFalse(samples.stacks().getLast().isOfLoop());
        assertEquals(Layer.DEVICE, Layer.of(samples.stacks().getFirst().frames().getLast()));
    }

    @Test
    void thePageOfTheFlightRecorderHasEveryDearCall() {
        List<StackFrame> echo = List.of(StackFrame.ofJava("a.Loop.run"), StackFrame.ofJava("a.Echo.<init>"));
        List<StackFrame> seldom = List.of(StackFrame.ofJava("a.Loop.run"), StackFrame.ofJava("a.Seldom.call"));
        String page = CallTree.of(new Samples("", List.of(new Samples.Stack(echo, 999), new Samples.Stack(seldom, 1))))
                .page("what & why");
        assertTrue(page.contains("what &amp; why") && page.contains("100.0 %  a.Loop.run"), page);
        assertTrue(page.contains("99.9 %  a.Echo.&lt;init&gt;"), page);
        assertFalse(page.contains("Seldom"), page);
    }

    @ParameterizedTest
    @ValueSource(strings = {"rx", "echo", "udp", "tcp"})
    void everyPathIsProfiledByTheFlightRecorder(String path) throws Exception {
        JsonNode result = profile(path, "--profiler", "jfr");
        assertTrue(result.get("source").asText().contains("flight recorder"), result.toString());
        assertTrue(Files.readString(directory.resolve("page.html")).contains(Samples.LOOP));
    }

    @ParameterizedTest
    @ValueSource(strings = {"rx", "tcp"})
    void asyncProfilerSeesTheDeviceToo(String path) throws Exception {
        assumeTrue(AsyncProfiler.find().isPresent(), "async-profiler is not here: ./rdma-raw profile gets it");
        JsonNode result = profile(path, "--profiler", "async");
        assertTrue(result.get("layers").findValuesAsText("layer").contains(Layer.DEVICE.toString()),
                result.toString());
        assertTrue(Files.readString(directory.resolve("page.html")).contains(path + " on soft:loop"));
    }

    private JsonNode profile(String path, String... options) throws Exception {
        List<String> arguments = new ArrayList<>(List.of("profile", path, "--seconds", "1", "--warm-up", "1", "--json",
                "--out", directory.resolve("page.html").toString()));
        arguments.addAll(List.of(options));
        BenchRun run = BenchRun.of(arguments.toArray(String[]::new));
        assertEquals(0, run.exitCode(), run.err());
        JsonNode result = run.json();
        assertTrue(result.get("samples").asLong() > 0 && !result.get("methods").isEmpty(), result.toString());
        return result;
    }

    @Test
    void impossibleProfileIsRefused() {
        for (String[] wrong : new String[][] {{"profile"}, {"profile", "rx", "--pid", "1"}, {"profile", "--wire", "rx"},
                {"profile", "echo", "--seconds", "0"}, {"profile", "nothing"}}) {
            BenchRun run = BenchRun.of(wrong);
            assertEquals(2, run.exitCode(), run.err());
        }
        for (String process : List.of("--pid=2147483646", "2147483646")) {
            BenchRun gone = BenchRun.of("profile", process, "--profiler", "jfr", "--out",
                    directory.resolve("page.html").toString());
            assertEquals(1, gone.exitCode());
            assertTrue(gone.err().contains("rdma-raw: no such process: 2147483646"), gone.err());
        }
    }
}
