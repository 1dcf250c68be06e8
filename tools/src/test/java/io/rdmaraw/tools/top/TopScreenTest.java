package io.rdmaraw.tools.top;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.rdmaraw.tools.ToolRun;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class TopScreenTest {
    private static final long SECOND = 1_000_000_000L;

    private static Snapshot.Row row(Map<String, String> names, Map<String, Long> counts) {
        return new Snapshot.Row(new TreeMap<>(names), new TreeMap<>(counts));
    }

    private static Snapshot snapshot(int factor) {
        long n = factor;
        return new Snapshot(n * 2 * SECOND,
                List.of(row(Map.of("loop", "loop-1"), Map.of("work:rounds", 4000 * n, "work:sleeps", 20 * n,
                        "nanos:spin", SECOND / 2 * n, "nanos:sleep", SECOND * n))),
                List.of(row(Map.of("loop", "loop-1", "device", "mlx5_0", "port", "1"), Map.of(
                        "traffic:received.frames", 3_000_000 * n, "traffic:received.bytes", 300_000_000 * n,
                        "work:receive.bursts", 100_000 * n, "work:receive.polls", 200_000 * n,
                        "work:receive.polls.empty", 100_000 * n, "work:fill.16", 100_000 * n,
                        "drop:send-error", 7L, "copy:slow-consumer", 0L, "level:rules", 3L))),
                List.of(row(Map.of("loop", "loop-1", "device", "mlx5_0", "channel", "abc mlx5_0/1"),
                        Map.of("traffic:received.frames", 3_000_000 * n, "drop:not-read", 40 * n))));
    }

    @Test
    void showsWhatChangedBetweenTwoSnapshots() {
        String screen = new TopScreen(snapshot(1), snapshot(2), 10).render();
        assertTrue(screen.lines().anyMatch(line -> line.matches("loop-1 +25% +25% +50% +2.00k +10")), screen);
        String queue = screen.lines().filter(line -> line.startsWith("mlx5_0/1")).findFirst().orElseThrow();
        assertTrue(queue.contains("1.50M") && queue.contains("1.20G") && queue.contains(" 30.0 ")
                && queue.contains("50%") && queue.contains("|    █  |"), screen);
        assertTrue(screen.lines().anyMatch(line -> line.matches("drop +send-error +mlx5_0 of loop-1 +0 +7")), screen);
        assertTrue(screen.lines().anyMatch(line -> line.matches("drop +not-read +abc mlx5_0/1 of loop-1 +20 +80")),
                screen);
        assertFalse(screen.contains("slow-consumer"), "what never happened is not shown");
    }

    @Test
    void aLoopThatSleptAllTheTimeIsAsleep() {
        Snapshot before = snapshot(1);
        Snapshot later = new Snapshot(before.nanos() + SECOND, before.loops(), before.ports(), before.channels());
        assertTrue(new TopScreen(before, later, 0).render().lines()
                .anyMatch(line -> line.matches("loop-1 +0% +0% +100% .*")));
    }

    @ParameterizedTest
    @CsvSource({"0,0", "999,999", "999.6,1.00k", "1500,1.50k", "15000,15.0k", "150000,150k", "2.5e9,2.50G", "-3,0",
        "0.25,0.25"})
    void numbersHaveThreeDigits(double value, String text) {
        assertEquals(text, TopScreen.si(value));
    }

    @ParameterizedTest
    @CsvSource(delimiter = '|', value = {"top --interval 0 | 2 | --interval must be",
        "top 999999999 | 1 | cannot attach to process 999999999", "asyncwatch soft:nothing | 1 | nothing",
        "asyncwatch | 2 | DEVICE"})
    void whatCannotBeShownIsSaidInASentence(String arguments, int exitCode, String part) {
        ToolRun run = ToolRun.of(arguments.split(" "));
        assertEquals(exitCode, run.exitCode(), run.err());
        assertTrue(run.err().contains(part), run.err());
    }
}
