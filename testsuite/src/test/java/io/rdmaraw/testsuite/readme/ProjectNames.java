package io.rdmaraw.testsuite.readme;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.MalformedInputException;
import java.nio.file.FileVisitResult;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.SimpleFileVisitor;
import java.nio.file.attribute.BasicFileAttributes;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;

/** The names that a document may put in backticks: files, classes, members and commands of the project. */
final class ProjectNames {
    private static final Set<String> LEFT_OUT = Set.of("target", ".git");
    private static final Pattern TEXT_FILE =
            Pattern.compile(".*(\\.(java|c|h|sh|py|xml|map)|/Makefile|/rdma-raw|/run)");
    private static final Pattern FILE =
            Pattern.compile("\\S*/\\S*|[\\w*.-]+\\.(c|h|md|py|sh|map|xml|yml|java|txt)|rdma-raw");
    private static final Pattern CLASS = Pattern.compile("((?:[a-z0-9]+\\.)*)([A-Z*][A-Za-z0-9*]*)((?:\\.\\w+)*)");
    private static final Pattern CONSTANT = Pattern.compile("[A-Z][A-Z0-9_]+");
    private static final Pattern SETTING = Pattern.compile("(?:-D)?([\\w.]+)=\\S+");
    private static final Pattern WORD = Pattern.compile("[a-z][\\w.-]*");

    private final List<String> files = new ArrayList<>();
    private final List<String> directories = new ArrayList<>();
    /** The text of each source file by path; paths begin with a slash. */
    private final Map<String, String> sources = new TreeMap<>();

    ProjectNames(Path root) throws IOException {
        Files.walkFileTree(root, new SimpleFileVisitor<>() {
            @Override
            public FileVisitResult preVisitDirectory(Path directory, BasicFileAttributes attributes) {
                if (LEFT_OUT.contains(directory.getFileName().toString())) {
                    return FileVisitResult.SKIP_SUBTREE;
                }
                directories.add(relative(directory));
                return FileVisitResult.CONTINUE;
            }

            @Override
            public FileVisitResult visitFile(Path file, BasicFileAttributes attributes) throws IOException {
                String path = relative(file);
                files.add(path);
                if (TEXT_FILE.matcher(path).matches()) {
                    sources.put(path, read(file));
                }
                return FileVisitResult.CONTINUE;
            }

            private String relative(Path path) {
                return "/" + root.relativize(path);
            }
        });
    }

    private static String read(Path file) throws IOException {
        try {
            return Files.readString(file);
        } catch (MalformedInputException e) {
            throw new UncheckedIOException(file + " is not UTF-8", e);
        }
    }

    /** Returns why a name is wrong, or empty if it exists. */
    Optional<String> complaint(String name) {
        return isKnown(name) ? Optional.empty() : Optional.of("`" + name + "` leads to nothing");
    }

    /**
     * Returns a pattern for the paths of the files that a name stands for, or empty if it stands for no class and no
     * file. Paths begin with a slash.
     */
    static Optional<Pattern> pathsOf(String name) {
        Matcher type = CLASS.matcher(name);
        if (FILE.matcher(name).matches()) {
            return Optional.of(Pattern.compile(".*/" + glob(name)));
        }
        return !type.matches() ? Optional.empty() : Optional.of(Pattern.compile(
                ".*/" + type.group(1).replace('.', '/') + glob(type.group(2)) + "\\.java"));
    }

    /** Returns whether the path of a file matches. */
    boolean hasFile(Pattern paths) {
        return files.stream().anyMatch(path -> paths.matcher(path).matches());
    }

    private boolean isKnown(String name) {
        if (name.contains(" ")) {
            return isCommand(List.of(name.split(" "))) || isPrinted(name);
        }
        if (name.startsWith("@")) {
            return isImported(name.substring(1));
        }
        if (name.endsWith("()")) {
            return sourcesContain("\\b" + name.substring(0, name.length() - 2) + "\\(");
        }
        Matcher setting = SETTING.matcher(name);
        if (setting.matches()) {
            return sourcesContain(Pattern.quote(setting.group(1)) + "\\b");
        }
        if (FILE.matcher(name).matches()) {
            return isFile(name);
        }
        Matcher type = CLASS.matcher(name);
        if (type.matches()) {
            return isClass(type.group(1), type.group(2), type.group(3))
                    || CONSTANT.matcher(name).matches() && sourcesContain("\\b" + name + "\\b");
        }
        return WORD.matcher(name).matches() && (isPackage(name) || isMetric(name) || isInLauncher(name));
    }

    // ---- files, classes, words ----

    private boolean isFile(String name) {
        String directory = name.endsWith("/") ? name.substring(0, name.length() - 1) : name;
        Pattern ending = Pattern.compile(".*/" + glob(directory.replaceFirst("^\\./", "")));
        return Stream.concat(files.stream(), directories.stream()).anyMatch(path -> ending.matcher(path).matches());
    }

    private boolean isClass(String packages, String type, String members) {
        Pattern file = Pattern.compile(".*/" + packages.replace('.', '/') + glob(type) + "\\.java");
        boolean ours = sources.entrySet().stream().filter(source -> file.matcher(source.getKey()).matches())
                .anyMatch(source -> Stream.of(members.split("\\.")).skip(1)
                        .allMatch(member -> finds("\\b" + member + "\\b", source.getValue())));
        return ours || packages.isEmpty() && members.isEmpty() && isImported(type);
    }

    /** Returns whether a source file imports a class of this name, which proves that a library contains it. */
    private boolean isImported(String type) {
        return !type.contains("*") && sourcesContain("(?m)^import [\\w.]+\\." + Pattern.quote(type) + ";");
    }

    private boolean isPackage(String name) {
        String ending = '/' + name.replace('.', '/');
        return directories.stream().anyMatch(path -> path.contains("/io/rdmaraw/") && path.endsWith(ending));
    }

    /** Returns whether a table of statistics has a line of this name. */
    private boolean isMetric(String name) {
        return sourcesContain("\\.((drop|otherDrop|copy|error|work|traffic)\\(|ofDevice\\([A-Z]+, )\""
                + Pattern.quote(name) + '"');
    }

    /** Returns whether the launcher defines a function of this name or looks for a program of this name. */
    private boolean isInLauncher(String name) {
        String quoted = Pattern.quote(name);
        return finds("(?m)^" + quoted + "\\(\\)", launcher()) || finds("command -v " + quoted + "\\b", launcher());
    }

    /** Returns whether the launcher's source contains this text in quotes. */
    private boolean isPrinted(String text) {
        return launcher().contains('"' + text + '"');
    }

    private String launcher() {
        StringBuilder text = new StringBuilder(sources.get("/rdma-raw"));
        sources.forEach((path, source) ->
                text.append(path.startsWith("/scripts/") || path.startsWith("/ci/lab/") ? source : ""));
        return text.toString();
    }

    private boolean sourcesContain(String regex) {
        Pattern pattern = Pattern.compile(regex);
        return sources.entrySet().stream()
                // The tests of this package contain wrong names on purpose.
                .filter(source -> !source.getKey().contains("/testsuite/readme/"))
                .anyMatch(source -> pattern.matcher(source.getValue()).find());
    }

    private static boolean finds(String regex, String text) {
        return Pattern.compile(regex).matcher(text).find();
    }

    private static String glob(String name) {
        return Stream.of(name.split("\\*", -1)).map(Pattern::quote).reduce((a, b) -> a + "[^/]*" + b).orElseThrow();
    }

    // ---- commands ----

    private boolean isCommand(List<String> words) {
        List<String> command = words.stream().dropWhile(word -> SETTING.matcher(word).matches()).toList();
        if (command.isEmpty()) {
            return false;
        }
        List<String> arguments = command.subList(1, command.size());
        return switch (command.getFirst()) {
            case "./rdma-raw" -> isLauncherCommand(arguments);
            case "./mvnw" -> isMavenCommand(arguments);
            case "make" -> isMakeCommand(arguments);
            default -> false;
        };
    }

    private boolean isLauncherCommand(List<String> arguments) {
        if (arguments.isEmpty()) {
            return false;
        }
        String caseLine = "(?m)^ +(?:[\\w-]+ \\| )*" + arguments.getFirst() + "(?: \\| [\\w-]+)*\\)";
        return finds(caseLine, sources.get("/rdma-raw"))
                && arguments.stream().filter(word -> word.startsWith("--")).allMatch(this::isOption);
    }

    private boolean isOption(String option) {
        return launcher().contains(option) || sourcesContain('"' + option + '"');
    }

    private boolean isMavenCommand(List<String> arguments) {
        for (int i = 0; i < arguments.size(); i++) {
            String word = arguments.get(i);
            if (word.equals("-pl") && !Stream.of(arguments.get(i + 1).split(",")).allMatch(this::isModule)
                    || word.startsWith("-Dtest=") && !isKnown(word.substring(6).substring(1))
                    || word.startsWith("-P") && !sources.get("/pom.xml").contains("<id>" + word.substring(2) + "</id>")
                    || word.startsWith("-Drdmaraw.") && !isKnown(word)) {
                return false;
            }
        }
        return true;
    }

    private boolean isModule(String name) {
        return sources.get("/pom.xml").contains("<module>" + name + "</module>");
    }

    /**
     * Returns whether the makefile has this target. For {@code NAME=value}, returns whether it lets the variable be
     * overridden.
     */
    private static boolean isTargetOrVariable(String word, String makefile) {
        int equals = word.indexOf('=');
        return equals < 0 ? finds("(?m)^" + Pattern.quote(word) + ":", makefile)
                : finds("(?m)^" + Pattern.quote(word.substring(0, equals)) + " *\\?=", makefile);
    }

    private boolean isMakeCommand(List<String> arguments) {
        boolean elsewhere = arguments.getFirst().equals("-C");
        String makefile = sources.get('/' + (elsewhere ? arguments.get(1) : "transport-rdma-raw-native") + "/Makefile");
        return makefile != null && arguments.stream().skip(elsewhere ? 2 : 0)
                .allMatch(word -> isTargetOrVariable(word, makefile));
    }
}
