package io.rdmaraw.tools.top;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.rdmaraw.tools.ToolRun;
import java.time.LocalTime;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class TopScreenTest {
    private static final long SECOND = 1_000_000_000L;
    private static final int WIDE = Integer.MAX_VALUE;

    @Test
    void theTimeHasSecondsOnTheFullMinute() {
        assertEquals("20:10:00", TopCommand.timeOfDay(LocalTime.of(20, 10)));
    }

    private static Snapshot.Row row(Map<String, String> names, Map<String, Long> counts) {
        return new Snapshot.Row(new TreeMap<>(names), new TreeMap<>(counts));
    }

    private static Snapshot snapshot(int factor) {
        long n = factor;
        return new Snapshot(n * 2 * SECOND,
                List.of(row(Map.of("loop", "loop-1"), Map.of("work:turns", 4000 * n, "work:sleeps", 20 * n,
                        "nanos:spin", SECOND / 2 * n, "nanos:sleep", SECOND * n, "nanos:alive", 2 * SECOND * n))),
                List.of(row(Map.of("loop", "loop-1", "device", "mlx5_0", "port", "1"), Map.of(
                        "traffic:received.frames", 3_000_000 * n, "traffic:received.bytes", 300_000_000 * n,
                        "work:receive.bursts", 100_000 * n, "work:receive.polls", 200_000 * n,
                        "work:receive.polls.empty", 100_000 * n, "work:fill.16", 100_000 * n,
                        "drop:send-error", 7L, "copy:slow-consumer", 0L, "gauge:rules", 3L))),
                List.of(row(Map.of("device", "mlx5_0"), Map.of("drop:ring-full", 10 * n, "gauge:rules.kernel-visible",
                        n - 1))),
                List.of(row(Map.of("loop", "loop-1", "device", "mlx5_0", "channel", "abc mlx5_0/1"),
                        Map.of("traffic:received.frames", 3_000_000 * n, "drop:not-read", 40 * n))), List.of());
    }

    private static Snapshot tcpSnapshot(int factor) {
        long n = factor;
        Map<String, String> loop = Map.of("loop", "loop-1", "device", "mlx5_0");
        return new Snapshot(n * 2 * SECOND, List.of(), List.of(), List.of(),
                List.of(row(with(loop, "channel", "tcp"), Map.of("gauge:connections", 12L, "gauge:time-wait", 3L,
                        "traffic:received.segments", 4000 * n, "traffic:sent.segments", 6000 * n,
                        "traffic:retransmitted.segments", 8 * n, "traffic:forwarded.segments", 20 * n,
                        "traffic:accepted.connections", 10 * n, "drop:malformed", 5L))),
                List.of(row(with(loop, "local", "10.0.0.1:80", "remote", "*", "state", "LISTEN"),
                        Map.of("gauge:half-open", 2L, "gauge:backlog", 128L)),
                        row(with(loop, "local", "", "remote", "", "state", "ALL"),
                                Map.of("gauge:ESTABLISHED", 11L, "gauge:FIN_WAIT_2", 1L)),
                        connection(loop, 1000, factor > 1 ? "CLOSE_WAIT" : "ESTABLISHED", 0),
                        connection(loop, 2000, "ESTABLISHED", 250_000_000 * n)));
    }

    private static Map<String, String> with(Map<String, String> names, String... more) {
        Map<String, String> all = new TreeMap<>(names);
        for (int i = 0; i < more.length; i += 2) {
            all.put(more[i], more[i + 1]);
        }
        return all;
    }

    private static Snapshot.Row connection(Map<String, String> loop, int port, String state, long bytes) {
        return row(with(loop, "local", "10.0.0.1:80", "remote", "10.0.0.2:" + port, "state", state, "congestion",
                "cubic"), Map.of("traffic:received.payload.bytes", bytes, "traffic:retransmitted.segments", 7L,
                "nanos:rtt", 42_000L, "gauge:congestion-window.bytes", 14_600L, "gauge:unsent.bytes", 3_000L));
    }

    @Test
    void tcpIsShownByLoopStateServerAndConnection() {
        String screen = new TopScreen(tcpSnapshot(1), tcpSnapshot(2), 10, WIDE).render();
        assertTrue(screen.lines().anyMatch(line -> line.matches(
                "mlx5_0 +loop-1 +12 +3 +0 +5 +2.00k +3.00k +4 +10 +0")), screen);
        assertTrue(screen.contains("connections: ESTABLISHED 11, FIN_WAIT_2 1"), screen);
        assertTrue(screen.lines().anyMatch(line -> line.matches("10.0.0.1:80 +2 +128 +loop-1")), screen);
        List<String> connections = screen.lines().filter(line -> line.startsWith("10.0.0.1:80 - ")).toList();
        assertTrue(connections.getFirst().matches(
                "10.0.0.1:80 - 10.0.0.2:2000 +ESTABLISHED +1.00G +0 +42 us +14.6k +0 +3.00k +7 +loop-1"), screen);
        assertTrue(connections.getLast().contains("CLOSE_WAIT"), "a connection is known by its ends: " + screen);
        assertTrue(screen.lines().anyMatch(line -> line.matches("drop +malformed +0 +5 +tcp of loop-1")), screen);
        assertFalse(screen.lines().anyMatch(line -> line.startsWith("tcp ")), "TCP is no channel: " + screen);
    }

    @Test
    void onlySoManyConnectionsAreShown() {
        String screen = new TopScreen(tcpSnapshot(1), tcpSnapshot(2), 1, WIDE).render();
        assertEquals(1, screen.lines().filter(line -> line.startsWith("10.0.0.1:80 - ")).count(), screen);
    }

    @Test
    void showsTheChangesBetweenTwoSnapshots() {
        String screen = new TopScreen(snapshot(1), snapshot(2), 10, WIDE).render();
        assertTrue(screen.lines().anyMatch(line -> line.matches("loop-1 +25% +25% +50% +2.00k +10")), screen);
        String queue = screen.lines().filter(line -> line.startsWith("mlx5_0/1")).findFirst().orElseThrow();
        assertTrue(queue.contains("1.50M") && queue.contains("1.20G") && queue.contains(" 30.0 ")
                && queue.contains("50%") && queue.contains("|    █  |"), screen);
        assertTrue(queue.contains(" 3 (1 kernel-visible) "), "rules that the kernel may answer too: " + screen);
        assertTrue(screen.lines().anyMatch(line -> line.matches("drop +send-error +0 +7 +mlx5_0 of loop-1")), screen);
        assertTrue(screen.lines().anyMatch(line -> line.matches("drop +ring-full +5 +20 +mlx5_0")),
                "of the whole device, so of no loop: " + screen);
        assertTrue(screen.lines().anyMatch(line -> line.matches("drop +not-read +20 +80 +abc mlx5_0/1 of loop-1")),
                screen);
        assertFalse(screen.contains("slow-consumer"), "what never happened is not shown");
    }

    /** A narrow terminal omits the least important columns. No line exceeds its width, and totals are complete. */
    @ParameterizedTest
    @CsvSource({"80", "100"})
    void aNarrowTerminalHasWholeColumns(int columns) {
        for (String screen : List.of(new TopScreen(snapshot(1), snapshot(2), 10, columns).render(),
                new TopScreen(tcpSnapshot(1), tcpSnapshot(2), 10, columns).render())) {
            assertTrue(screen.lines().allMatch(line -> line.length() <= columns), screen);
        }
        String screen = new TopScreen(snapshot(1), snapshot(2), 10, columns).render();
        assertTrue(screen.lines().anyMatch(line -> line.matches("mlx5_0/1 +loop-1 +1.50M +1.20G .*")), screen);
        assertTrue(screen.contains("TOTAL") && screen.lines()
                .anyMatch(line -> line.matches("drop +not-read +20 +80 .*")), screen);
        String tcp = new TopScreen(tcpSnapshot(1), tcpSnapshot(2), 10, columns).render();
        assertTrue(tcp.lines().anyMatch(line -> line.matches("10.0.0.1:80 - 10.0.0.2:2000 +ESTABLISHED +1.00G +0 .*")),
                tcp);
    }

    @Test
    void aLoopThatSleptAllTheTimeIsAsleep() {
        Map<String, String> loop = Map.of("loop", "loop-1");
        Snapshot before = ofLoop(row(loop, Map.of("nanos:sleep", SECOND, "nanos:alive", 5 * SECOND)));
        Snapshot later = ofLoop(row(loop, Map.of("nanos:sleep", 4 * SECOND, "nanos:alive", 8 * SECOND)));
        assertTrue(new TopScreen(before, later, 0, WIDE).render().lines()
                .anyMatch(line -> line.matches("loop-1 +0% +0% +100% .*")));
    }

    private static Snapshot ofLoop(Snapshot.Row loop) {
        return new Snapshot(loop.count("nanos:alive"), List.of(loop), List.of(), List.of(), List.of(), List.of());
    }

    @ParameterizedTest
    @CsvSource({"0,0", "999,999", "999.6,1.00k", "1500,1.50k", "15000,15.0k", "150000,150k", "2.5e9,2.50G", "-3,0",
        "0.25,0.25"})
    void numbersHaveThreeDigits(double value, String text) {
        assertEquals(text, TopScreen.si(value));
    }

    @Test
    void aScreenIsWrittenOverTheLastWithoutWipingIt() {
        String screen = TopCommand.overTheLast("one\ntwo\n");
        assertEquals("\033[H\033[Kone\n\033[Ktwo\n\033[J", screen);
    }

    @ParameterizedTest
    @CsvSource(delimiter = '|', value = {"top --interval 0 | 2 | --interval must be",
        "top 999999999 | 1 | no such process: 999999999", "asyncwatch soft:nothing | 1 | nothing",
        "asyncwatch -d soft:nothing | 1 | nothing", "asyncwatch soft:loop -d soft:loop | 2 | mutually exclusive",
        "top --pid 999999999 | 1 | no such process: 999999999", "asyncwatch | 2 | DEVICE"})
    void processThatCannotBeShownIsReportedInASentence(String arguments, int exitCode, String part) {
        ToolRun run = ToolRun.of(arguments.split(" "));
        assertEquals(exitCode, run.exitCode(), run.err());
        assertTrue(run.err().contains(part), run.err());
    }

    @ParameterizedTest
    @CsvSource({"+, 12, 16", "-, 12, 8", "-, 3, 0", "x, 12, 12"})
    void keysChangeHowManyChannelsAreShown(char key, int before, int after) {
        assertEquals(after, TopCommand.channelsAfter(key, before));
    }
}
