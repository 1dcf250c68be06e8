package io.rdmaraw.tools;

import io.rdmaraw.tools.bench.BenchCommand;
import io.rdmaraw.tools.demo.DemoCommand;
import io.rdmaraw.tools.devinfo.DevinfoCommand;
import io.rdmaraw.tools.doctor.DoctorCommand;
import io.rdmaraw.tools.page.ReportCommand;
import io.rdmaraw.tools.pcap.PcapException;
import io.rdmaraw.tools.perf.BurstLatCommand;
import io.rdmaraw.tools.perf.BwCommand;
import io.rdmaraw.tools.perf.FlowRateCommand;
import io.rdmaraw.tools.perf.LatCommand;
import io.rdmaraw.tools.pktgen.PktgenCommand;
import io.rdmaraw.tools.profile.ProfileCommand;
import io.rdmaraw.tools.top.AsyncWatchCommand;
import io.rdmaraw.tools.top.TopCommand;
import io.rdmaraw.verbs.VerbsException;
import java.util.stream.Stream;
import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Spec;
import picocli.CommandLine.UnmatchedArgumentException;

/** The command line of the project. The launcher {@code rdma-raw} starts it. */
@Command(name = "rdma-raw", mixinStandardHelpOptions = true, versionProvider = Versions.class,
        synopsisSubcommandLabel = "COMMAND",
        subcommands = {DemoCommand.class, DevinfoCommand.class, PktgenCommand.class, BenchCommand.class,
                DoctorCommand.class, BwCommand.class, LatCommand.class, BurstLatCommand.class, FlowRateCommand.class,
                TopCommand.class, AsyncWatchCommand.class, ReportCommand.class, ProfileCommand.class},
        description = "Ethernet frames through Netty over raw-packet queue pairs.")
public final class Main implements Runnable {
    @Spec
    private CommandSpec spec;

    private Main() {
    }

    public static void main(String[] args) {
        System.exit(commandLine().execute(args));
    }

    static CommandLine commandLine() {
        CommandLine commandLine = new CommandLine(new Main());
        commandLine.setCaseInsensitiveEnumValuesAllowed(true);
        commandLine.setExecutionExceptionHandler((e, command, parsed) -> report(e, command));
        commandLine.setParameterExceptionHandler((e, arguments) -> refuse(e));
        // picocli asks each command for itself.
        withSubcommands(commandLine).forEach(command -> command.getCommandSpec().versionProvider(new Versions()));
        return commandLine;
    }

    private static Stream<CommandLine> withSubcommands(CommandLine command) {
        return Stream.concat(Stream.of(command),
                command.getSubcommands().values().stream().distinct().flatMap(Main::withSubcommands));
    }

    /** What is wrong, and where the options are told: the whole help would push the first out of the window. */
    private static int refuse(ParameterException e) {
        CommandLine command = e.getCommandLine();
        command.getErr().println("rdma-raw: " + message(e) + "; see ./"
                + command.getCommandSpec().qualifiedName() + " --help");
        command.getErr().flush();
        return ExitCode.USAGE;
    }

    /** picocli tells what it does not know by a number, counted from a word that the user has not written. */
    private static String message(ParameterException e) {
        CommandLine command = e.getCommandLine();
        if (command.getParent() == null || command.getSubcommands().isEmpty()
                || !(e instanceof UnmatchedArgumentException unknown)) {
            return e.getMessage();
        }
        return "'" + unknown.getUnmatched().getFirst() + "' is no option of " + command.getCommandName()
                + ", and none of " + String.join(", ", command.getSubcommands().keySet());
    }

    /** What the user can put right is one sentence; anything else is our fault and shows where it happened. */
    private static int report(Exception e, CommandLine command) {
        if (e instanceof ToolException || e instanceof VerbsException || e instanceof PcapException
                || e instanceof IllegalArgumentException && !(e instanceof NumberFormatException)) {
            command.getErr().println("rdma-raw: " + e.getMessage());
        } else {
            e.printStackTrace(command.getErr());
        }
        command.getErr().flush();
        return ExitCode.FAILED;
    }

    @Override
    public void run() {
        throw new ParameterException(spec.commandLine(), "a command is missing");
    }
}
