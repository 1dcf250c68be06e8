package io.rdmaraw.tools.top;

import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.rdmaraw.tools.output.Json;
import io.rdmaraw.tools.output.TerminalKeys;
import io.rdmaraw.tools.output.TerminalWidth;
import io.rdmaraw.tools.run.EndOnSignal;
import java.io.PrintWriter;
import java.time.LocalTime;
import java.time.format.DateTimeFormatter;
import java.util.concurrent.Callable;
import java.util.stream.Collectors;
import picocli.CommandLine.ArgGroup;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Spec;

/** The command {@code rdma-raw top}. */
@Command(name = "top", mixinStandardHelpOptions = true, showDefaultValues = true,
        description = {"Shows what the loops of a running process do: work, spinning and sleep, bursts and how full"
                + " they are, empty polls, drops and copies by reason, flow rules, TCP's servers and connections, the"
                + " busiest channels.",
            "It attaches to the process locally and reads the bean io.rdmaraw:type=Transport.",
            "On a narrow terminal the least important columns are left out.",
            "Keys in a terminal: q ends, space shows the next screen at once, + and - show more and fewer channels."})
public final class TopCommand implements Callable<Integer> {
    private static final int CHANNELS_STEP = 4;
    private static final DateTimeFormatter TIME_OF_DAY = DateTimeFormatter.ofPattern("HH:mm:ss");
    private static final String HOME = "\033[H";
    private static final String WIPE_LINE = "\033[K";
    private static final String WIPE_REST = "\033[J";

    @ArgGroup
    private ProcessChoice process = new ProcessChoice();

    @Option(names = "--interval", paramLabel = "S", defaultValue = "1", description = "seconds, 0.1 to 3600")
    private double intervalSeconds;

    @Option(names = {"-n", "--count"}, paramLabel = "N", defaultValue = "0",
            description = "screens; 0: until q or Ctrl-C")
    private int count;

    @Option(names = "--channels", paramLabel = "N", defaultValue = "12",
            description = "channels and connections to show")
    private int channels;

    @Option(names = "--json", description = "print the counts themselves, one JSON object for each interval")
    private boolean json;

    @Spec
    private CommandSpec spec;

    @Override
    public Integer call() throws InterruptedException {
        if (intervalSeconds < 0.1 || intervalSeconds > 3600 || count < 0 || channels < 0) {
            throw new ParameterException(spec.commandLine(), "--interval must be 0.1 to 3600, --count and"
                    + " --channels not"
                    + " negative");
        }
        try (EndOnSignal keepRunning = new EndOnSignal();
                JavaProcess attached = process.attach("top");
                TerminalKeys keys = TerminalKeys.open()) {
            Snapshot before = attached.snapshot();
            for (int shown = 0; keepRunning.getAsBoolean() && (count == 0 || shown < count); shown++) {
                int key = keys.await((long) (intervalSeconds * 1e9), keepRunning);
                if (key == 'q') {
                    break;
                }
                channels = channelsAfter(key, channels);
                Snapshot now = attached.snapshot();
                show(attached, before, now);
                before = now;
            }
        }
        return 0;
    }

    static int channelsAfter(int key, int channels) {
        return switch (key) {
            case '+' -> channels + CHANNELS_STEP;
            case '-' -> Math.max(0, channels - CHANNELS_STEP);
            default -> channels;
        };
    }

    private void show(JavaProcess process, Snapshot before, Snapshot now) {
        PrintWriter out = spec.commandLine().getOut();
        if (json) {
            Json.print(out, toJson(now));
            return;
        }
        // Only a terminal is overwritten; a file or a pipe receives one screen after the other.
        boolean terminal = System.console() != null && System.console().isTerminal() && count != 1;
        int columns = TerminalWidth.columns();
        String screen = process.heading() + "  " + timeOfDay(LocalTime.now()) + "\n\n"
                + new TopScreen(before, now, channels, columns).render();
        String lines = TerminalWidth.truncate(screen, columns);
        out.print(terminal ? overTheLast(lines) : lines);
        out.flush();
    }

    /**
     * Overwrites the previous screen. Clearing the whole screen first would flicker. Each line is cleared before it is
     * written: clearing after a line as wide as the terminal would erase its last character on some terminals.
     */
    static String overTheLast(String lines) {
        return lines.lines().map(line -> WIPE_LINE + line).collect(Collectors.joining("\n", HOME, "\n" + WIPE_REST));
    }

    private static ObjectNode toJson(Snapshot snapshot) {
        ObjectMapper mapper = new ObjectMapper();
        ObjectNode root = Json.object();
        root.set("loops", mapper.valueToTree(snapshot.loops()));
        root.set("queues", mapper.valueToTree(snapshot.queues()));
        root.set("devices", mapper.valueToTree(snapshot.devices()));
        root.set("channels", mapper.valueToTree(snapshot.channels()));
        root.set("sockets", mapper.valueToTree(snapshot.sockets()));
        return root;
    }

    /** Formats a time with seconds, which {@link LocalTime#toString} omits on the full minute. */
    static String timeOfDay(LocalTime time) {
        return TIME_OF_DAY.format(time);
    }
}
