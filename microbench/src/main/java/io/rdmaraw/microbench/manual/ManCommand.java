package io.rdmaraw.microbench.manual;

import io.rdmaraw.tools.command.ToolException;
import io.rdmaraw.tools.output.Environment;
import java.io.IOException;
import java.io.PrintWriter;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Callable;
import java.util.function.Supplier;
import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Parameters;
import picocli.CommandLine.Spec;

/**
 * Implements {@code rdma-raw man}. It is in this module because this module depends on all others that have commands.
 */
@Command(name = "man", mixinStandardHelpOptions = true,
        description = {"Shows the manual page of a command, such as ./rdma-raw man pktgen tx. What is not a terminal"
                + " gets its source, for man(1)."})
public final class ManCommand implements Callable<Integer> {
    @Parameters(arity = "0..*", paramLabel = "COMMAND", description = "by default the whole of it")
    private List<String> words = List.of();

    @Option(names = "--out", paramLabel = "DIR", description = "write the pages of all commands there, for man -M or"
            + " /usr/local/share/man/man1")
    private Path directory;

    @Spec
    private CommandSpec spec;

    @Override
    public Integer call() {
        Map<String, Supplier<String>> pages = pages();
        PrintWriter out = spec.commandLine().getOut();
        if (directory != null) {
            write(pages);
            out.println(pages.size() + " pages in " + directory);
            out.flush();
            return 0;
        }
        Supplier<String> page = pages.get(String.join("-", "rdma-raw", String.join("-", words)).replaceFirst("-$", ""));
        if (page == null) {
            throw new ParameterException(spec.commandLine(), "there is no page for '" + String.join(" ", words)
                    + "', but for " + pages.keySet().stream().skip(1)
                    .map(name -> name.replaceFirst("rdma-raw-", ""))
                    .filter(name -> !name.contains("-") || LauncherPage.COMMANDS.contains(name)).toList());
        }
        out.print(page.get());
        out.flush();
        return 0;
    }

    private void write(Map<String, Supplier<String>> pages) {
        try {
            Files.createDirectories(directory);
            for (Map.Entry<String, Supplier<String>> page : pages.entrySet()) {
                Files.writeString(directory.resolve(page.getKey() + ".1"), page.getValue().get());
            }
        } catch (IOException e) {
            throw new ToolException("cannot write to " + directory + ": " + e.getMessage(), e);
        }
    }

    private Map<String, Supplier<String>> pages() {
        CommandLine root = io.rdmaraw.tools.Main.commandLine();
        spec.parent().subcommands().forEach((name, command) -> {
            if (!root.getSubcommands().containsKey(name)) {
                root.addSubcommand(name, command);
            }
        });
        CommandLine example = io.rdmaraw.examples.Main.commandLine();
        example.setCommandName("example");
        root.addSubcommand("example", example);
        Map<String, Supplier<String>> pages = new LinkedHashMap<>();
        String version = "rdma-raw " + Environment.versions().get("rdmaRaw").asText();
        add(root.getCommandSpec(), version, pages);
        Path home = Path.of(System.getProperty("rdmaraw.home", "."));
        // The page is created only when it is needed: for some commands the launcher must build and start a program
        // first.
        LauncherPage.COMMANDS.forEach(command -> pages.put("rdma-raw-" + command,
                () -> LauncherPage.of(command, home, version).render()));
        return pages;
    }

    private static void add(CommandSpec command, String version, Map<String, Supplier<String>> pages) {
        ManPage page = new ManPage(command, version);
        pages.put(page.name(), page::render);
        command.subcommands().values().stream().distinct().map(CommandLine::getCommandSpec)
                .filter(each -> !each.usageMessage().hidden()).forEach(each -> add(each, version, pages));
    }
}
