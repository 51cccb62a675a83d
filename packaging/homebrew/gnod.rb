# Homebrew, for a tap of your own: it fetches wheels, which Homebrew's own repository does not accept.
# Tried: `ruby -c`. Untried: an installation, since there is no release yet, whose checksum is missing below.
class Gnod < Formula
  desc "Local knowledge search: keyword, meaning and answers, nothing leaves the machine"
  homepage "https://pypi.org/project/gnod/"
  url "https://files.pythonhosted.org/packages/source/g/gnod/gnod-0.1.0.tar.gz"
  sha256 "0000000000000000000000000000000000000000000000000000000000000000"
  license "MIT"

  depends_on arch: :arm64 # cryptography and onnxruntime have no wheels for Intel
  depends_on "python@3.13"

  def install
    system "python3.13", "-m", "venv", libexec
    system libexec/"bin/pip", "install", "--no-compile", "--prefer-binary", "--constraint", "constraints.txt", "."
    bin.install_symlink libexec/"bin/gnod", libexec/"bin/gnoctl"
    man1.install Dir["build/man/*.1"]
    bash_completion.install "build/completions/bash/gnoctl"
    zsh_completion.install "build/completions/zsh/_gnoctl"
    fish_completion.install "build/completions/fish/gnoctl.fish"
    pkgshare.install "editors"
  end

  service do
    run opt_bin/"gnod"
    keep_alive successful_exit: false
  end

  test do
    (testpath/"notes/boat.md").write "The keel was painted in May."
    ENV["GNO_SOCKET"] = testpath/"socket"
    system bin/"gnoctl", "init", testpath/"notes", "--preset", "none"
    assert_match "boat.md", shell_output("#{bin}/gnoctl search keel")
    system bin/"gnoctl", "daemon", "stop"
  end
end
