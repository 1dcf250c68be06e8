package io.rdmaraw.tools.perf;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;
import io.rdmaraw.tools.ToolRun;
import io.rdmaraw.tools.command.ToolException;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Runs whole measurements on a loop device. */
class PerfCommandsTest {
    private static ToolRun run(String arguments) {
        List<String> words = new ArrayList<>(List.of(arguments.split(" ")));
        words.addAll(List.of("-d", "soft:loop:perf", "--json"));
        ToolRun run = ToolRun.of(words.toArray(String[]::new));
        assertEquals(0, run.exitCode(), run.err());
        return run;
    }

    @ParameterizedTest
    @ValueSource(strings = {
        "",
        "--length 1514 -l 1 -Q 1 -t 1",
        "-q 4 --udp --flows 8",
        "-q 2 --rss --tcp --flows 16",
        "--vlan 7 --vlan-pcp 8 --ipv6 --udp -s 124",
        "--vlan-en --tcp --ipv6 -s 78",
        "-I 128",
        "--events",
        "-t 7 -Q 100 -l 3",
        "--promiscuous -j 10.0.0.1 -J 10.0.0.2 -k 1000 -K 2000",
    })
    void everyFrameSentIsReceived(String options) throws Exception {
        JsonNode rows = run(("bw -n 3000 --warm-up 0 " + options).strip()).json().get("rows");
        assertEquals(2, rows.size());
        for (JsonNode row : rows) {
            assertEquals(3000, row.get("n_iterations").asLong(), row.toString());
            assertTrue(row.get("BW_average").asDouble() > 0 && row.get("MsgRate").asDouble() > 0, row.toString());
            assertTrue(row.get("BW_peak").asDouble() >= row.get("BW_average").asDouble(), row.toString());
        }
        assertTrue(rows.get(1).path("lost").asLong() == 0, rows.toString());
    }

    /** A flood also loses its last frames, which no number of a later frame shows. */
    @Test
    void everyFrameOfAFloodIsReceivedOrLost() throws Exception {
        JsonNode rows = run("bw --flood -F -r 64 -D 0.2 --warm-up 0").json().get("rows");
        assertEquals(rows.get(0).get("n_iterations").asLong(),
                rows.get(1).get("n_iterations").asLong() + rows.get(1).get("lost").asLong(), rows.toString());
    }

    @Test
    void aSnifferSeesEachFrameOnceMore() throws Exception {
        JsonNode rows = run("bw -n 1000 --warm-up 0 --sniffer -r 16384").json().get("rows");
        assertEquals(1000, rows.get(0).get("n_iterations").asLong());
        assertEquals(2000, rows.get(1).get("n_iterations").asLong());
    }

    /** Frames are also counted correctly if both sides send (-b, as in perftest). */
    @Test
    void framesGoBothWaysAtOnce() throws Exception {
        JsonNode rows = run("bw -b -F -n 3000 --warm-up 0").json().get("rows");
        assertEquals(List.of(3000, 3000, 3000, 3000), rows.findValues("n_iterations").stream().map(JsonNode::asInt)
                .toList());
        assertEquals(List.of(0, 0), rows.findValues("lost").stream().map(JsonNode::asInt).toList());
        assertEquals(List.of("client", "server", "client back", "server back"), rows.findValuesAsText("side"));
    }

    @Test
    void noLengthIsBeyondTheMtu() throws Exception {
        JsonNode rows = run("bw -a -m 500 -n 100 --warm-up 0").json().get("rows");
        assertEquals(List.of(60, 124, 252, 508), rows.findValues("MsgSize").stream().map(JsonNode::asInt).distinct()
                .toList());
    }

    @Test
    void allSizesAreThoseOfRfc2544() throws Exception {
        JsonNode rows = run("bw -a -n 500 --warm-up 0").json().get("rows");
        assertEquals(List.of(60, 60, 124, 124, 252, 252, 508, 508, 1020, 1020, 1276, 1276, 1514, 1514),
                rows.findValues("MsgSize").stream().map(JsonNode::asInt).toList());
    }

    @ParameterizedTest
    @ValueSource(strings = {"", "--closed-loop", "--udp", "--tcp -s 66", "--vlan 3 --tcp --ipv6 -s 78", "--events",
        "--latency-gap 20"})
    void everyPingIsAnswered(String options) throws Exception {
        JsonNode rows = run(("lat -n 500 --warm-up 0.05 " + options).strip()).json().get("rows");
        assertEquals(options.contains("closed") ? 1 : 2, rows.size());
        for (JsonNode row : rows) {
            assertEquals(500, row.get("n_iterations").asLong());
            assertEquals(0, row.get("lost").asLong());
            assertTrue(row.get("t_min").asDouble() > 0 && row.get("t_min").asDouble() <= row.get("t_typical").asDouble()
                    && row.get("t_typical").asDouble() <= row.get("percentile_99").asDouble()
                    && row.get("percentile_99").asDouble() <= row.get("percentile_99.99").asDouble()
                    && row.get("percentile_99.99").asDouble() <= row.get("t_max").asDouble(), row.toString());
        }
    }

    @Test
    void latencyFromScheduleIsAboveThatFromSending() throws Exception {
        JsonNode rows = run("lat -n 2000 --warm-up 0.05 --latency-gap 1").json().get("rows");
        // A gap of one microsecond cannot be kept. Each ping's latency counts from its scheduled time.
        assertEquals("schedule", rows.get(0).get("from").asText());
        assertTrue(rows.get(0).get("t_avg").asDouble() > rows.get(1).get("t_avg").asDouble(), rows.toString());
    }

    @Test
    void everyTenthPingOfABurstIsAnswered() throws Exception {
        JsonNode row = run("burst-lat -n 1000 --burst-size 50 --reply-every 10 --rate-limit 100000 --rate-units p"
                + " --warm-up 0 -r 2048").json().get("rows").get(0);
        assertEquals(1000, row.get("n_iterations").asLong());
        assertEquals(0, row.get("lost").asLong());
    }

    @ParameterizedTest
    @ValueSource(ints = {1, 2})
    void rulesAreMadeAndRemoved(int threads) throws Exception {
        JsonNode rows = run("flow-rate -n 200 --rounds 2 --threads " + threads).json().get("rows");
        assertEquals(List.of("create", "destroy"), rows.findValuesAsText("operation"));
        for (JsonNode row : rows) {
            assertTrue(row.get("fs_min_time").asDouble() <= row.get("fs_typical_time").asDouble());
            assertTrue(row.get("fps").asDouble() > 0);
            assertTrue(row.get("fps_min").asDouble() <= row.get("fps_max").asDouble());
        }
    }

    /** An error of a thread fails the run. Otherwise the result would be the rate of no rules. */
    @Test
    void errorOfThreadIsReported() {
        ToolException failure = assertThrows(ToolException.class, () -> FlowRateCommand.runThreads(2, thread -> {
            throw new OutOfMemoryError("planted");
        }));
        assertEquals("the creation of rules failed: planted", failure.getMessage());
    }

    @ParameterizedTest
    @CsvSource(delimiter = '|', value = {
        "bw -Z -P                            | one of them",
        "bw -P                               | -E",
        "bw -s 20                            | --size must be",
        "bw -q 3 --rss                       | power of two",
        "bw --rate-limit-type HW --rate-units p --rate-limit 1 | bits",
        "bw -b -Z                            | both sides here",
        "bw -m 500 -s 515                    | --mtu",
        "lat --vlan-pcp 9                    | --vlan-pcp",
        "lat -P -E 02:00:00:00:00:02 --udp   | -j is missing",
        "burst-lat --reply-every 0           | --reply-every",
        "flow-rate -n 0                      | --iters",
        "flow-rate --threads 0               | --threads",
        "flow-rate -d soft:none --threads 2 -n 500001 | --threads times --iters is 1000002",
    })
    void wrongOptionsAreRefusedBeforeAnythingIsTried(String arguments, String fault) {
        ToolRun run = ToolRun.of(arguments.split(" "));
        assertEquals(2, run.exitCode(), run.err());
        assertTrue(run.err().contains(fault), run.err());
    }

    /** The keys named like perftest's contain the latency that perftest measures: from the actual send time. */
    @Test
    void theResultIsTheRowThatPerftestHas() throws Exception {
        JsonNode result = run("lat -n 500 --warm-up 0.05").json();
        assertEquals("send", result.get("results").get("from").asText());
    }

    /** A peer that does not answer is an error. Zeros and a success status would look like a very fast peer. */
    @Test
    void silentPeerIsReported() {
        ToolRun run = ToolRun.of("lat", "-P", "-d", "soft:loop:nobody", "-E", "02:00:00:00:00:02", "--warm-up", "0.1");
        assertEquals(1, run.exitCode(), run.out());
        assertTrue(run.err().contains("no ping was answered by 02:00:00:00:00:02 through soft:loop:nobody"), run.err());
    }

    /** If pings cannot be sent on schedule, the measured latency is mostly backlog. The command reports this. */
    @Test
    void missedScheduleIsReported() throws Exception {
        ToolRun run = run("lat -n 5000 --warm-up 0.05 --latency-gap 0.01");
        assertTrue(run.err().contains("the schedule was not held") && run.err().contains("--latency-gap"), run.err());
        assertTrue(run.json().get("rows").get(0).get("late").asLong() > 500, run.out());
    }

    @Test
    void aRuleThatWouldCutTheHostOffIsRefused() {
        ToolRun run = ToolRun.of("bw", "-Z", "-d", "soft:loop:perf", "-E", "02:00:00:00:00:02", "-j", "10.0.0.1", "-J",
                "10.0.0.2");
        assertEquals(1, run.exitCode());
        assertTrue(run.err().contains("host"), run.err());
    }
}
