;;; gno.el --- Search your documents as you type, with gnod  -*- lexical-binding: t; -*-

;; Version: 0.1.0
;; URL: https://pypi.org/project/gnod/
;; Package-Requires: ((emacs "28.1"))
;; Keywords: matching, files, hypermedia
;; SPDX-License-Identifier: MIT

;;; Commentary:

;; `gno-search' searches while you type; RET opens the selected document at
;; the line that was found.  `gno-follow' follows the link at point;
;; `gno-backlinks' and `gno-mentions' list the places that refer to this
;; file.  `gno-status' shows whether the index equals the disk.  The package
;; reaches the daemon over its socket with jsonrpc.el, and starts it through
;; gnoctl when it is not running.

;;; Code:

(require 'cl-lib)
(require 'jsonrpc)
(require 'seq)
(require 'subr-x)

(defgroup gno nil
  "Search your documents with gnod."
  :group 'matching
  :prefix "gno-")

(defcustom gno-command '("gnoctl")
  "The command that runs gnoctl: the program and its first arguments.
It finds the socket and starts the daemon.  Add \"--index\" and a name
to search another index."
  :type '(repeat string))

(defcustom gno-limit 20
  "The number of documents that are shown."
  :type 'natnum)

(defcustom gno-debounce 0.01
  "Seconds to wait for the next key before a search is sent."
  :type 'number)

(defface gno-match '((t :inherit match))
  "The face for matched words.")

(defface gno-place '((t :inherit shadow))
  "The face for the place of a document.")

;;; The connection

(defclass gno-connection (jsonrpc-process-connection)
  ((last-id :initform nil :documentation "The id of the latest request, to cancel it."))
  "A connection to the daemon.")

(cl-defmethod jsonrpc-connection-send :before ((connection gno-connection) &key id method &allow-other-keys)
  "Note the ID of a request for METHOD."
  (when (and id method)
    (setf (slot-value connection 'last-id) id)))

(defvar gno--connection nil "The connection that this Emacs process shares.")

(defun gno--connection ()
  "Return an open connection; start the daemon when it is not running."
  (unless (and gno--connection (jsonrpc-running-p gno--connection))
    (setq gno--connection
          (condition-case nil
              (gno--connect (gno--gnoctl "socket"))
            ;; No daemon listens.  Every command starts it, and says why if the config forbids it.
            (file-error (gno--gnoctl "collection" "list")
                        (gno--connect (gno--gnoctl "socket"))))))
  gno--connection)

(defun gno--connect (path)
  "Connect to the socket at PATH."
  ;; gnoctl has checked this, but the socket may not have existed then.
  (let ((owner (file-attribute-user-id (file-attributes path))))
    (unless (memq owner (list nil 0 (user-real-uid)))
      (signal 'file-error (list "Another user owns the socket" path))))
  (let ((process (make-network-process :name "gno" :family 'local :service path :noquery t
                                       :coding 'utf-8-emacs-unix)))
    (apply #'make-instance 'gno-connection :name "gno" :process process
           ;; Queries are private: no log.  Renamed in jsonrpc.el 1.0.21 (Emacs 30).
           (if (boundp 'jsonrpc-event-hook)
               '(:events-buffer-config (:size 0))
             '(:events-buffer-scrollback-size 0)))))

(defun gno--gnoctl (&rest words)
  "Run gnoctl with WORDS and return its output.
Where it fails, what it said is a `user-error'."
  (let ((errors (make-temp-file "gno")))
    (unwind-protect
        (with-temp-buffer
          (setq default-directory "/") ; the present one may be remote or deleted
          (let ((status (condition-case nil
                            (apply #'call-process (car gno-command) nil (list t errors) nil
                                   (append (cdr gno-command) words))
                          (file-missing
                           (user-error "%s cannot be run: install gnod, or name the program in `gno-command'"
                                       (car gno-command))))))
            (if (eql status 0)
                (string-trim (buffer-string))
              (erase-buffer)
              (insert-file-contents errors)
              (user-error "%s" (string-trim (buffer-string))))))
      (delete-file errors))))

(defun gno--request (method params done failed)
  "Call METHOD with PARAMS; call DONE with the result, or FAILED with a sentence.
Return the request's id, for `gno--cancel'."
  (let ((connection (gno--connection)))
    (jsonrpc-async-request
     connection method params
     :success-fn done
     :error-fn (lambda (problem)
                 (funcall failed (if (eql (plist-get problem :code) -1)
                                     "the connection to the daemon was lost: see `gnoctl daemon logs`"
                                   (plist-get problem :message))))
     :timeout-fn (lambda () (funcall failed "the daemon did not answer in time")))
    (slot-value connection 'last-id)))

(defun gno--cancel (id)
  "Cancel the request ID: the daemon stops working on it."
  (when (and id gno--connection (jsonrpc-running-p gno--connection))
    (jsonrpc-notify gno--connection :$/cancelRequest (list :id id))))

(defun gno--ask (method params)
  "Call METHOD with PARAMS and wait for the result."
  (condition-case problem
      (jsonrpc-request (gno--connection) method params :timeout 30)
    (jsonrpc-error
     (user-error "%s" (or (alist-get 'jsonrpc-error-message (cddr problem)) "the daemon did not answer")))))

;;; The live search

(defvar gno--results nil "The buffer that shows the hits.")
(defvar gno--query "" "The latest query.")
(defvar gno--hits nil "The hits of the latest query.")
(defvar gno--message nil "The message beside the hits, or nil.")
(defvar gno--selected 0 "The number of the selected hit, from 0.")
(defvar gno--timer nil "Waits for the next key.")
(defvar gno--pending nil "The id of the running request.")

(defvar gno-search-map
  (let ((map (make-sparse-keymap)))
    (set-keymap-parent map minibuffer-local-map)
    (dolist (key '([down] "\C-n"))
      (define-key map key #'gno-next))
    (dolist (key '([up] "\C-p"))
      (define-key map key #'gno-previous))
    map)
  "Keys of the field that `gno-search' reads from.")

(defvar gno-history nil "The earlier queries.")

;;;###autoload
(defun gno-search (&optional query)
  "Search your documents as you type, beginning with QUERY.
Open the one that is chosen at the line that was found."
  (interactive)
  (gno--connection) ; to say now what stands in the way
  (setq gno--query "" gno--hits nil gno--message nil gno--selected 0
        gno--results (get-buffer-create "*gno*"))
  (let ((window (display-buffer gno--results '(display-buffer-at-bottom (window-height . 0.4)))))
    (unwind-protect
        (minibuffer-with-setup-hook
            (lambda ()
              (gno--draw)
              (add-hook 'post-command-hook #'gno--input nil t))
          (read-from-minibuffer "Search: " query gno-search-map nil 'gno-history))
      (gno--supersede)
      (when (window-live-p window)
        (quit-restore-window window 'kill))
      (when (buffer-live-p gno--results)
        (kill-buffer gno--results))))
  (if-let* ((hit (nth gno--selected gno--hits)))
      (gno--open hit)
    (message "%s" (or gno--message "Nothing found"))))

(defun gno-next ()
  "Select the next hit."
  (interactive)
  (gno--select (1+ gno--selected)))

(defun gno-previous ()
  "Select the previous hit."
  (interactive)
  (gno--select (1- gno--selected)))

(defun gno--select (number)
  "Select the hit NUMBER; before the first one comes the last one."
  (when gno--hits
    (setq gno--selected (mod number (length gno--hits)))
    (gno--draw)))

(defun gno--input ()
  "Search for the content of the minibuffer, if it has changed."
  (gno--query (string-trim (minibuffer-contents-no-properties))))

(defun gno--query (query)
  "Search for QUERY after a moment, and cancel the earlier search."
  (unless (equal query gno--query)
    (setq gno--query query)
    (gno--supersede)
    (if (string-empty-p query)
        (gno--found nil nil)
      (setq gno--timer (run-with-timer gno-debounce nil #'gno--send query)))))

(defun gno--supersede ()
  "Cancel the waiting or running search."
  (when gno--timer
    (cancel-timer gno--timer)
    (setq gno--timer nil))
  (when gno--pending
    (gno--cancel gno--pending)
    (setq gno--pending nil)))

(defun gno--send (query)
  "Send QUERY to the daemon."
  (let* (mine
         (answered (lambda (hits message)
                     (when (eql mine gno--pending) ; else a later one has taken its place
                       (setq gno--pending nil)
                       (gno--found hits message)))))
    (condition-case problem
        (setq mine (gno--request
                    :search.lexical (list :query query :limit gno-limit :prefix_last_term t)
                    (lambda (result)
                      (let ((hits (append (plist-get result :hits) nil)))
                        (funcall answered hits (if hits (gno--remarks result) "nothing found"))))
                    ;; Keep the hits while the query is incomplete (an open quotation mark).
                    (lambda (sentence) (funcall answered gno--hits sentence)))
              gno--pending mine)
      ((error quit) (gno--found gno--hits (error-message-string problem))))))

(defun gno--found (hits message)
  "Show HITS, and MESSAGE if there is one."
  (setq gno--hits hits gno--message message gno--selected 0)
  (gno--draw))

(defun gno--draw ()
  "Write the hits into their buffer."
  (when (buffer-live-p gno--results)
    (with-current-buffer gno--results
      (let (selected)
        (erase-buffer)
        (setq truncate-lines t)
        (when gno--message
          (insert (propertize gno--message 'face 'warning) "\n"))
        (seq-do-indexed
         (lambda (hit number)
           (let ((start (point)))
             (insert (gno--line hit))
             (when (= number gno--selected)
               (setq selected start)
               (add-face-text-property start (point) 'highlight t))))
         gno--hits)
        (goto-char (or selected (point-min)))
        (when-let* ((window (get-buffer-window gno--results)))
          (set-window-point window (point)))))))

;;; Hits

(defun gno--line (hit)
  "Return the two lines that show HIT."
  (concat (gno--flat (plist-get hit :title)) "  "
          (propertize (format "%s/%s:%s%s" (plist-get hit :collection) (gno--flat (plist-get hit :path))
                              (or (plist-get (plist-get hit :location) :label) (plist-get hit :line))
                              (if-let* ((within (plist-get (plist-get hit :definition) :label)))
                                  (format " in %s" (gno--flat within))
                                ""))
                      'face 'gno-place)
          (gno--also hit)
          "\n    " (gno--preview hit) "\n"))

(defun gno--also (hit)
  "Return the other paths of HIT's file; nothing without copies."
  (when-let* ((copies (append (plist-get hit :also) nil)))
    (propertize
     (concat "  also: "
             (mapconcat (lambda (copy) (format "%s/%s" (plist-get copy :collection) (gno--flat (plist-get copy :path))))
                        copies ", ")
             (if (< 0 (or (plist-get hit :also_left_out) 0)) (format " and %d more" (plist-get hit :also_left_out)) ""))
     'face 'gno-place)))

(defconst gno--obeyed "[\x00-\x08\x0b-\x1f\x7f-\u009f\u2028-\u202e\u2066-\u2069]"
  "Matches characters that reverse text, or that act on a terminal.")

(defun gno--visible (text)
  "Return TEXT with U+FFFD in place of the characters of `gno--obeyed'."
  (replace-regexp-in-string gno--obeyed "\ufffd" text))

(defun gno--flat (text)
  "Return TEXT as one line, without the characters of `gno--obeyed'."
  (string-replace "\n" " " (gno--visible text)))

(defun gno--preview (hit)
  "Return the line of HIT's snippet that has the first match, its matches marked."
  (let* ((text (copy-sequence (gno--visible (plist-get hit :snippet))))
         (marks (append (plist-get hit :marks) nil))
         (first (if marks (aref (car marks) 0) 0)))
    (dolist (mark marks)
      (add-face-text-property (aref mark 0) (aref mark 1) 'gno-match nil text))
    (substring text
               (if-let* ((end (cl-position ?\n text :end first :from-end t))) (1+ end) 0)
               (cl-position ?\n text :start first))))

(defun gno--text-p (hit)
  "Return non-nil if HIT's file itself is text with the same lines as the hit."
  (let ((mime (plist-get hit :mime)))
    (or (member mime '("application/json" "application/yaml" "application/toml"))
        (and (string-prefix-p "text/" mime)
             (not (member mime '("text/html" "text/csv" "text/tab-separated-values")))))))

(defun gno--open (hit)
  "Open HIT at its line.
Open the file if it is text, else the indexed text."
  (let ((source (plist-get hit :source)))
    (if (and (gno--text-p hit) (file-exists-p source))
        (find-file source)
      (gno--show (gno--ask :document.get (list :ref (plist-get hit :uri)))))
    (push-mark nil t)
    (widen)
    (goto-char (point-min))
    (forward-line (1- (plist-get hit :line)))
    (recenter)))

(defun gno--show (document)
  "Show the text of DOCUMENT, which is not a text file."
  (switch-to-buffer (get-buffer-create (plist-get document :uri)))
  (let ((inhibit-read-only t))
    (erase-buffer)
    (insert (plist-get document :text)))
  (set-buffer-modified-p nil)
  (special-mode))

;;; Links

;;;###autoload
(defun gno-follow ()
  "Follow the link at point.
Open a document at its heading, or an address in the browser."
  (interactive)
  (let* ((found (gno--ask :document.links (list :ref (gno--file) :direction "out" :limit 1000)))
         (line (line-number-at-pos nil t))
         (here (seq-filter (lambda (link) (eql line (plist-get link :line))) (plist-get found :links)))
         (link (gno--link-at here (buffer-substring-no-properties (line-beginning-position) (line-end-position))
                             (- (point) (line-beginning-position)))))
    (unless link
      (user-error "The index has no link in this line: save the file first if it is new"))
    (gno--follow link)))

(defun gno--link-at (links text column)
  "Return the link at COLUMN of the line TEXT, from its LINKS.
If there is none, return the next one, or the last."
  (let ((from 0))
    (or (seq-find (lambda (link)
                    (when-let* ((start (string-search (plist-get link :target) text from)))
                      ;; The brackets that close a link follow its target, after the words that are shown.
                      (setq from (+ start (length (plist-get link :target))))
                      (when (string-match "[])]+" text from)
                        (setq from (match-end 0)))
                      (< column from)))
                  links)
        (car (last links)))))

(defun gno--follow (link)
  "Follow LINK."
  (let ((target (plist-get link :target))
        (fragment (plist-get link :fragment))
        (candidates (append (plist-get link :candidates) nil)))
    (cond ((plist-get link :to) (gno--go (plist-get link :to) 1 fragment))
          (candidates (gno--go (completing-read (format "Which %s? " target) candidates nil t) 1 fragment))
          ((not (equal (plist-get link :state) "external"))
           (user-error "%s does not lead to a document of the index" target))
          ;; A text must not make the browser open anything else.
          ((string-match-p "\\`\\(https?://\\|mailto:\\)" target) (browse-url target))
          (t (user-error "%s was not opened: it is not a web or mail address" target)))))

;;;###autoload
(defun gno-backlinks ()
  "Choose one of the links to this file, and go there."
  (interactive)
  (let ((found (gno--ask :document.links (list :ref (gno--file) :direction "in" :limit 1000))))
    (gno--choose "Links to" "links to" found (plist-get found :backlinks))))

;;;###autoload
(defun gno-mentions ()
  "Choose one of the places that mention this file without a link, and go there."
  (interactive)
  (let ((found (gno--ask :links.mentions (list :ref (gno--file) :limit 1000))))
    (gno--choose "Mentions of" "mentions" found (plist-get found :mentions))))

(defun gno--choose (prompt verb found places)
  "Choose one of PLACES by PROMPT, and go there.
FOUND has the title.  Where there are none, say so with VERB."
  (let ((title (gno--flat (plist-get found :title)))
        (lines (seq-map (lambda (place) (cons (gno--place place) place)) places)))
    (unless lines
      (user-error "Nothing %s %s" verb title))
    (let ((place (cdr (assoc (completing-read (format "%s %s: " prompt title) lines nil t) lines))))
      (gno--go (plist-get place :uri) (plist-get place :line) ""))))

(defun gno--place (place)
  "Return PLACE as a line."
  (format "%s:%d  %s" (string-remove-prefix "gno://" (plist-get place :uri)) (plist-get place :line)
          (gno--flat (plist-get place :passage))))

(defun gno--go (uri line fragment)
  "Open the document URI at LINE, or at the heading FRAGMENT."
  (gno--open (plist-put (gno--ask :document.locate (list :ref uri)) :line line))
  (unless (string-empty-p fragment)
    (let ((name (regexp-quote (string-remove-prefix "^" fragment)))
          (case-fold-search t))
      (or (re-search-forward (concat "^[ \t]*[#=*]+[ \t]+" name) nil t)
          (re-search-forward name nil t)) ; no heading: a block, or a label
      (beginning-of-line))))

(defun gno--file ()
  "Return the name of this buffer in the index: its file, or its address."
  (or (and buffer-file-name (expand-file-name buffer-file-name))
      (and (string-prefix-p "gno://" (buffer-name)) (buffer-name))
      (user-error "This buffer has no file")))

;;; The state of the index

;;;###autoload
(defun gno-status ()
  "Show whether the index equals the disk."
  (interactive)
  (let* ((status (gno--ask :index.status (make-hash-table)))
         (embedding (plist-get status :embedding)))
    (message
     "%s"
     (string-join
      `(,(format "Index %s: %s, %s; %s" (plist-get status :index)
                 (gno--count (plist-get status :documents) "document")
                 (gno--count (plist-get status :chunks) "chunk")
                 (plist-get (plist-get status :freshness) :state))
        ,@(seq-map #'gno--collection (plist-get status :collections))
        ,@(cond ((equal (plist-get embedding :state) "embedding")
                 (list (format "  embedding: %s left" (gno--count (plist-get embedding :pending) "chunk"))))
                ((plist-get embedding :reason)
                 (list (format "  embedding is %s: %s" (plist-get embedding :state)
                               (plist-get embedding :reason))))))
      "\n"))))

(defun gno--collection (collection)
  "Return the state of COLLECTION as a line."
  (format "  %s: %s%s  %s"
          (plist-get collection :name)
          (if (eq (plist-get collection :available) t)
              (format "%d of %d indexed" (plist-get collection :indexed)
                      (or (plist-get collection :on_disk) (plist-get collection :indexed)))
            (gno--flat (or (plist-get collection :reason) "not there")))
          (if (> (plist-get collection :failed) 0)
              (format ", %s could not be read (gnoctl status --errors)"
                      (gno--count (plist-get collection :failed) "file"))
            "")
          (gno--flat (plist-get collection :path))))

(defun gno--remarks (result)
  "Return the note beside the hits of RESULT.
It says whether the index is behind, and what was left out."
  (let ((freshness (plist-get result :freshness)))
    (when-let* ((parts (append (unless (eq (plist-get freshness :current) t)
                                 (list (plist-get freshness :state)))
                               (plist-get result :notes) nil)))
      (string-join parts "; "))))

(defun gno--count (number noun)
  "Return NUMBER and NOUN."
  (format "%d %s%s" number noun (if (eql number 1) "" "s")))

(provide 'gno)
;;; gno.el ends here
