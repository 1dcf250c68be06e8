package io.rdmaraw.microbench.server;

import io.rdmaraw.microbench.process.NativeProgram;
import io.rdmaraw.tools.server.ServerNetwork;
import java.util.ArrayList;
import java.util.List;

/**
 * Sends requests on a schedule that is the same for every transport. It runs {@code paced-bench}, a C program on kernel
 * sockets. Latency counts from the scheduled send time, which avoids coordinated omission.
 */
final class PacedLoad implements LoadGenerator {
    /**
     * Duration of the settle time as a share of a run. Requests do not count during it, because the connections are
     * new.
     */
    private static final double SETTLE_SHARE = 0.2;
    private static final int FULL_SPEED = 0;

    private final RequestKind kind;
    private final int connections;
    private final EqualLoad load;
    private final int percent;
    private final String program = NativeProgram.find("paced-bench");

    private PacedLoad(RequestKind kind, int connections, EqualLoad load, int percent) {
        this.kind = kind;
        this.connections = connections;
        this.load = load;
        this.percent = percent;
    }

    /** Returns a generator that sends at a share of the load. */
    static PacedLoad at(int percent, RequestKind kind, int connections, EqualLoad load) {
        return new PacedLoad(kind, connections, load, percent);
    }

    /** Returns a generator that sends as fast as the server answers, and reports the measured rate to the load. */
    static PacedLoad atFullSpeed(RequestKind kind, int connections, EqualLoad load) {
        return new PacedLoad(kind, connections, load, FULL_SPEED);
    }

    @Override
    public List<String> serverCommand() {
        return kind.serverCommand();
    }

    @Override
    public String caseName() {
        return kind.caseName("paced") + ".conns" + connections + (percent == FULL_SPEED ? ".full" : ".load" + percent);
    }

    /**
     * Returns whether the generator runs at full speed. The rate of any share is unknown before a run at full speed.
     */
    @Override
    public boolean warmsUp() {
        return percent == FULL_SPEED;
    }

    @Override
    public Load run(ServerNetwork network, List<String> prefix, int port, double seconds) {
        double settleSeconds = SETTLE_SHARE * seconds;
        double rate = percent == FULL_SPEED ? 0 : load.perSecond(percent);
        List<String> command = new ArrayList<>(prefix);
        command.addAll(List.of(program, "--kind", kind.text(), "--address", network.serverAddress(), "--port",
                Integer.toString(port), "--connections", Integer.toString(connections), "--rate",
                Double.toString(rate), "--seconds", Double.toString(seconds), "--settle",
                Double.toString(settleSeconds)));
        return PacedReport.read(network.runClient(command.toArray(String[]::new)), seconds, settleSeconds);
    }

    @Override
    public void measured(double answersPerSecond) {
        if (percent == FULL_SPEED) {
            load.answered(answersPerSecond);
        }
    }
}
