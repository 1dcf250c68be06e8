package io.rdmaraw.tools.command;

import io.rdmaraw.tools.pcap.PcapException;
import io.rdmaraw.verbs.VerbsException;
import java.net.SocketException;
import java.util.Map;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import picocli.CommandLine;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.UnmatchedArgumentException;

/** Configures how the project's command lines parse arguments and report errors. */
public final class CommandLines {
    private CommandLines() {
    }

    /**
     * Creates a command line that reports errors of the user in one sentence.
     *
     * @param root the command that has the user's commands as subcommands
     */
    public static CommandLine of(Runnable root) {
        CommandLine commandLine = new CommandLine(root);
        commandLine.setCaseInsensitiveEnumValuesAllowed(true);
        commandLine.setExecutionExceptionHandler((e, command, parsed) -> report(e, command));
        commandLine.setParameterExceptionHandler((e, arguments) -> refuse(e));
        // picocli does not inherit the version provider and the footer of the help text.
        withSubcommands(commandLine).forEach(command -> {
            command.getCommandSpec().versionProvider(new Versions());
            command.getCommandSpec().usageMessage().footer(ExitCode.HELP);
        });
        return commandLine;
    }

    private static Stream<CommandLine> withSubcommands(CommandLine command) {
        return Stream.concat(Stream.of(command),
                command.getSubcommands().values().stream().distinct().flatMap(CommandLines::withSubcommands));
    }

    /**
     * Prints the error and the command that shows the options. The full help text would scroll the error off the
     * screen.
     */
    private static int refuse(ParameterException e) {
        CommandLine command = e.getCommandLine();
        command.getErr().println("rdma-raw: " + message(e) + "; see ./"
                + command.getCommandSpec().qualifiedName() + " --help");
        command.getErr().flush();
        return ExitCode.USAGE;
    }

    private static String message(ParameterException e) {
        CommandLine command = e.getCommandLine();
        if (e.getMessage().matches(".*is not an? (double|int|long)")) {
            return e.getMessage().replaceFirst("(is not) an? (?:double|int|long)$", "$1 a number");
        }
        if (!(e instanceof UnmatchedArgumentException unknown)) {
            return e.getMessage();
        }
        String word = unknown.getUnmatched().getFirst();
        boolean isOption = word.startsWith("-");
        if (command.getSubcommands().isEmpty()) {
            return isOption ? e.getMessage() : unexpected(command, word);
        }
        if (command.getParent() == null) {
            return isOption ? e.getMessage() : "there is no command '" + word + "'";
        }
        return command.getCommandName() + (isOption ? " has no option " + word + commandsWith(command, word)
                : " has no command '" + word + "'; it has " + shown(command).map(Map.Entry::getKey)
                        .collect(Collectors.joining(", ")));
    }

    /**
     * Describes an unexpected word. picocli's own message refers to it by an index that the user cannot map to the
     * input.
     */
    private static String unexpected(CommandLine command, String word) {
        if (!command.getCommandSpec().positionalParameters().isEmpty()) {
            return command.getCommandName() + " got '" + word + "' beyond what it takes";
        }
        return command.getCommandName() + " takes options alone, and got '" + word + "'"
                + (command.getCommandSpec().optionsMap().containsKey("--device")
                        ? ": a device is named by -d, as in -d soft:xdp:eth0" : "");
    }

    private static String commandsWith(CommandLine command, String option) {
        String name = option.replaceFirst("=.*", "");
        String having = shown(command)
                .filter(each -> each.getValue().getCommandSpec().optionsMap().containsKey(name))
                .map(each -> command.getCommandName() + ' ' + each.getKey()).collect(Collectors.joining(", "));
        return having.isEmpty() ? "" : "; these have: " + having;
    }

    private static Stream<Map.Entry<String, CommandLine>> shown(CommandLine command) {
        return command.getSubcommands().entrySet().stream()
                .filter(each -> !each.getValue().getCommandSpec().usageMessage().hidden());
    }

    /**
     * Prints one sentence for errors that the user can correct. Any other failure is a defect and prints a stack trace.
     */
    private static int report(Exception e, CommandLine command) {
        if (e instanceof ToolException || e instanceof VerbsException || e instanceof SocketException
                || e instanceof PcapException
                || e instanceof IllegalArgumentException && !(e instanceof NumberFormatException)) {
            command.getErr().println("rdma-raw: " + e.getMessage());
        } else {
            e.printStackTrace(command.getErr());
        }
        command.getErr().flush();
        return ExitCode.FAILED;
    }
}
