package io.rdmaraw.tools.top;

import io.rdmaraw.ffi.FdWaiter;
import io.rdmaraw.tools.command.DeviceChoice;
import io.rdmaraw.tools.output.Json;
import io.rdmaraw.tools.run.EndOnSignal;
import io.rdmaraw.verbs.objects.AsyncEvent;
import io.rdmaraw.verbs.objects.VerbsContext;
import io.rdmaraw.verbs.objects.VerbsDevices;
import java.io.PrintWriter;
import java.time.LocalDateTime;
import java.time.temporal.ChronoUnit;
import java.util.concurrent.Callable;
import picocli.CommandLine.ArgGroup;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Spec;

/** The command {@code rdma-raw asyncwatch}. */
@Command(name = "asyncwatch", mixinStandardHelpOptions = true, showDefaultValues = true,
        description = "Prints the asynchronous events of a device as they come, as ibv_asyncwatch does: ports that lose"
                + " or find their link, a device that fails.")
public final class AsyncWatchCommand implements Callable<Integer> {
    private static final long POLL_NANOS = 100_000_000;

    @ArgGroup(multiplicity = "1")
    private DeviceChoice named;

    @Option(names = {"-n", "--count"}, paramLabel = "N", defaultValue = "0", description = "events; 0: until Ctrl-C")
    private int count;

    @Option(names = "--json", description = "print each event as one JSON object")
    private boolean json;

    @Spec
    private CommandSpec spec;

    private String device;

    @Override
    public Integer call() {
        device = named.name();
        PrintWriter out = spec.commandLine().getOut();
        try (EndOnSignal keepRunning = new EndOnSignal(); VerbsContext context = VerbsDevices.open(device);
                FdWaiter waiter = new FdWaiter(context.asyncFd())) {
            spec.commandLine().getErr().println(device + ": watching (async_fd " + context.asyncFd() + ')');
            spec.commandLine().getErr().flush();
            int seen = 0;
            while (keepRunning.getAsBoolean() && (count == 0 || seen < count)) {
                waiter.await(POLL_NANOS);
                for (AsyncEvent event = context.pollAsyncEvent(); event != null; event = context.pollAsyncEvent()) {
                    print(out, event);
                    seen++;
                }
            }
            spec.commandLine().getErr().println(device + ": " + seen + " events");
            spec.commandLine().getErr().flush();
        }
        return 0;
    }

    private void print(PrintWriter out, AsyncEvent event) {
        String time = LocalDateTime.now().truncatedTo(ChronoUnit.MILLIS).toString();
        if (json) {
            Json.print(out, Json.object().put("time", time).put("device", device).put("event", event.type().name())
                    .put("rawType", event.rawType()).put("port", event.port()));
            return;
        }
        out.println(time + "  " + event.type() + (event.port() != 0 ? "  port " + event.port() : "")
                + (event.sourceOrNull() != null ? "  " + event.sourceOrNull() : "") + "  (" + event.rawType() + ')');
        out.flush();
    }
}
