package io.rdmaraw.microbench.tcp;

import com.fasterxml.jackson.databind.JsonNode;
import io.rdmaraw.microbench.process.CpuTimes;
import io.rdmaraw.microbench.result.BenchRow.Unit;
import io.rdmaraw.microbench.tcp.StreamCase.Figure;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.concurrent.TimeUnit;

/**
 * Measures a server under attack by hostile peers. The resources of the server are read after a tenth of the time,
 * after half of it, and at the end. Growth between the last two readings reveals a resource without a limit.
 */
final class HostileMeasurement {
    private static final double PERCENT = 100;
    private static final double NANOS_PER_SECOND = 1e9;
    private static final double BYTES_PER_MEGABYTE = 1e6;
    /** Lower limit of a growth in megabytes. Smaller values are noise and would make ratios meaningless. */
    private static final double MIN_MEGABYTES = 0.1;
    private static final double EARLY = 0.1;
    private static final double MIDDLE = 0.5;

    private final TcpPeer server;
    private final TcpPeer client;
    private final double seconds;
    private final Map<String, Figure> figures = new LinkedHashMap<>();

    /** The values of all counters at one moment. */
    private record Moment(JsonNode server, JsonNode client, JsonNode held, CpuTimes cpu) {
        double since(Moment before, String what) {
            JsonNode now = client.has(what) ? client : server;
            JsonNode then = client.has(what) ? before.client : before.server;
            return now.required(what).asDouble() - then.required(what).asDouble();
        }

        double rateSince(Moment before, String what) {
            return since(before, what) / secondsSince(before);
        }

        double secondsSince(Moment before) {
            return (cpu.nanos() - before.cpu.nanos()) / NANOS_PER_SECOND;
        }

        double held(String what) {
            return held.required(what).asDouble();
        }
    }

    /** @param seconds duration of the attack */
    HostileMeasurement(TcpPeer server, TcpPeer client, double seconds) {
        this.server = server;
        this.client = client;
        this.seconds = seconds;
    }

    private Moment now() {
        JsonNode held = server.ask("held");
        return new Moment(server.ask("counts"), client.ask("counts"), held, CpuTimes.read(WireStreams.SERVER_CORE));
    }

    private Moment after(double moreSeconds) throws InterruptedException {
        TimeUnit.NANOSECONDS.sleep((long) (moreSeconds * NANOS_PER_SECOND));
        return now();
    }

    Map<String, Figure> measure(StreamCase.Hostile what, double calmSeconds) throws InterruptedException {
        client.ask("pace " + what.connections() + ' ' + what.requestsPerSecond());
        Moment settled = after(calmSeconds);
        Moment calm = after(calmSeconds);
        client.ask("hostile " + what.kind().name());
        Moment begin = now();
        Moment early = after(EARLY * seconds);
        Moment middle = after((MIDDLE - EARLY) * seconds);
        Moment end = after((1 - MIDDLE) * seconds);
        double peers = client.ask("hostile-peers").required("peers").asDouble();
        client.ask("calm");
        client.ask("stop");
        put(".peers", Unit.HOSTILE_PEERS, Math.max(1, peers));
        put(".kept", Unit.PERCENT_KEPT,
                PERCENT * end.rateSince(begin, "roundTrips") / calm.rateSince(settled, "roundTrips"));
        put(".newcomers", Unit.CONNECTIONS_PER_SECOND, end.rateSince(begin, "connections"));
        put(".frames", Unit.FRAMES_PER_SECOND, Math.max(1, end.rateSince(begin, "flooded")));
        // The busy time of the core also includes packet reception by the kernel and all other work of the core.
        put(".calmCpu", Unit.PERCENT_OF_CORE, coreOf(settled, calm));
        put(".cpu", Unit.PERCENT_OF_CORE, coreOf(begin, end));
        putHeldMemory(".early", calm, begin, early);
        putHeldMemory(".middle", calm, early, middle);
        putHeldMemory(".end", calm, middle, end);
        double slotsShort = end.held("slotsShort") - begin.held("slotsShort");
        if (slotsShort > 0) {
            put(".slotsShort", Unit.TIMES_PER_SECOND, slotsShort / end.secondsSince(begin));
        }
        return figures;
    }

    /**
     * Adds the processor time of the loop since the previous reading, and the growth of memory and slots since the calm
     * phase.
     */
    private void putHeldMemory(String when, Moment calm, Moment before, Moment now) {
        put(".loopCpu" + when, Unit.PERCENT_OF_CORE,
                PERCENT * now.rateSince(before, "serverNanos") / NANOS_PER_SECOND);
        put(".heap" + when, Unit.MEGABYTES_MORE, megabytesMore("heapBytes", calm, now));
        put(".process" + when, Unit.MEGABYTES_MORE, megabytesMore("processBytes", calm, now));
        put(".kernelTcp" + when, Unit.MEGABYTES_MORE, megabytesMore("kernelTcpBytes", calm, now));
        if (now.held("slotsInUse") > 0) {
            put(".slots" + when, Unit.SLOTS_IN_USE, now.held("slotsInUse"));
        }
    }

    private static double megabytesMore(String what, Moment before, Moment now) {
        return Math.max(MIN_MEGABYTES, (now.held(what) - before.held(what)) / BYTES_PER_MEGABYTE);
    }

    private static double coreOf(Moment before, Moment now) {
        return PERCENT * now.cpu.since(before.cpu).serverSeconds() / now.secondsSince(before);
    }

    private void put(String name, Unit unit, double value) {
        figures.put(name, new Figure(unit, value));
    }
}
