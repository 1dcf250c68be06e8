package io.rdmaraw.microbench.profile;

import io.rdmaraw.microbench.tcp.StreamLoad;
import io.rdmaraw.microbench.wire.WireLoad;
import io.rdmaraw.testsuite.net.PeerProcess;
import io.rdmaraw.testsuite.net.TestNetwork;
import io.rdmaraw.tools.command.ToolException;
import io.rdmaraw.tools.run.JavaCommand;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;

/** Starts a process that keeps one path through the transport busy with the load of the bench for that path. */
final class Loads {
    private static final Duration START_LIMIT = Duration.ofSeconds(60);

    private record Running(long pid, String title, Runnable closing) implements Load {
        @Override
        public void close() {
            closing.run();
        }
    }

    private Loads() {
    }

    /** Returns a load for a process that already runs. Closing the load does not end the process. */
    static Load ofProcess(long pid) {
        if (ProcessHandle.of(pid).isEmpty()) {
            throw new ToolException("no such process: " + pid);
        }
        return new Running(pid, "process " + pid, () -> {
        });
    }

    /** Starts a load on the loopback device. It needs no privileges. */
    static Load inMemory(ProfiledPath path) {
        if (path == ProfiledPath.TCP) {
            StreamLoad load = StreamLoad.onLoop();
            return new Running(load.pid(), "tcp on soft:loop, " + StreamLoad.CONNECTIONS + " connections",
                    load::close);
        }
        String name = path.name().toLowerCase(Locale.ROOT);
        TestNetwork here = new TestNetwork("profile", Path.of("."));
        List<String> command = new ArrayList<>(JavaCommand.of("io.rdmaraw.microbench.Main"));
        command.addAll(List.of("bench", "load", name));
        PeerProcess process = here.current().start(command.toArray(String[]::new));
        try {
            process.awaitOutput("under way", START_LIMIT);
        } catch (AssertionError e) {
            process.close();
            throw new ToolException("the process to profile did not start: " + process.output().strip(), e);
        }
        return new Running(process.pid(), name + " on soft:loop, bursts of 64", process::close);
    }

    /**
     * Starts a load on AF_XDP at one end of a veth pair, with the generator at the other end. It needs root privileges.
     */
    static Load onWire(ProfiledPath path) {
        if (path == ProfiledPath.TCP) {
            StreamLoad load = StreamLoad.onWire();
            return new Running(load.pid(), "tcp server on soft:xdp over veth, " + StreamLoad.CONNECTIONS
                    + " connections", load::close);
        }
        WireLoad load = new WireLoad(path == ProfiledPath.UDP);
        return new Running(load.pid(), path.name().toLowerCase(Locale.ROOT) + " on soft:xdp over veth, window of 64",
                load::close);
    }
}
